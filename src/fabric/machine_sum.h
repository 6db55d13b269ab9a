// The sum over all machines, by the better of two ways: by parts, or by the fabric's own reduction
// where messages would be too small or too many. Types of sixteen bits are added up in float32 and
// rounded once: for that they go by the second way with thirty-two.
#pragma once

#include <optional>

#include "fabric/sum_by_parts.h"

namespace syncopate::fabric {

class MachineSum {
 public:
  /// For vectors of so many bytes in all, the same on every machine. Bits are never added.
  MachineSum(fabric::Channel& channel, const fabric::Topology& topology, std::size_t bytes,
             fabric::Combine combine);

  /// By parts some machines may have the result in place of their own values and others not; else
  /// all or none.
  bool by_parts() const { return parts_.has_value(); }
  /// Begins one; the one before is done. May use `tag` and the next one.
  void begin(const MachineSumVectors& vectors, int tag);
  /// As SumByParts::done().
  bool done(std::uint64_t& moves);

 private:
  fabric::Channel& channel_;
  fabric::Combine combine_;
  std::optional<SumByParts> parts_;
  MachineSumVectors vectors_;
  std::unique_ptr<fabric::Operation> reduction_;
  std::vector<std::byte> sum_;  ///< Where it is to be scaled.
  std::vector<float> wide_;     ///< Values of sixteen bits, and their sum.
};

}  // namespace syncopate::fabric

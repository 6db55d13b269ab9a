#include "fabric/machine_sum.h"

#include <numeric>

#include "kernel/kernel.h"

namespace syncopate::fabric {
namespace {

template <typename Half>
void widen(const void* from, std::size_t elements, std::vector<float>& into) {
  const auto* halves = static_cast<const Half*>(from);
  into.resize(elements);
  for (std::size_t i = 0; i < elements; ++i) into[i] = float(halves[i]);
}

template <typename Half>
void narrow(const std::vector<float>& from, float scale, void* into) {
  auto* halves = static_cast<Half*>(into);
  for (std::size_t i = 0; i < from.size(); ++i) halves[i] = Half(from[i] * scale);
}

bool is_half(DataType type) { return size_of(type) < sizeof(float); }

}  // namespace

MachineSum::MachineSum(fabric::Channel& channel, const fabric::Topology& topology,
                       std::size_t bytes, fabric::Combine combine)
    : channel_(channel), combine_(combine) {
  if (combine != fabric::Combine::sum || !SumByParts::pays(bytes, topology.machines())) return;
  std::vector<int> machines(topology.machines());
  std::iota(machines.begin(), machines.end(), 0);
  parts_.emplace(channel, std::move(machines), topology.machine);
}

void MachineSum::begin(const MachineSumVectors& vectors, int tag) {
  if (parts_) return parts_->begin(vectors, tag);
  vectors_ = vectors;
  if (is_half(vectors.type)) {
    vectors.type == DataType::float16 ? widen<float16>(vectors.mine, vectors.elements, wide_)
                                      : widen<bfloat16>(vectors.mine, vectors.elements, wide_);
    reduction_ =
        channel_.reduce(wide_.data(), wide_.data(), wide_.size(), DataType::float32, combine_);
    return;
  }
  if (vectors.scale != 1) sum_.resize(vectors.elements * size_of(vectors.type));
  reduction_ = channel_.reduce(vectors.mine, vectors.scale != 1 ? sum_.data() : vectors.result,
                               vectors.elements, vectors.type, combine_);
}

bool MachineSum::done(std::uint64_t& moves) {
  if (parts_) return parts_->done(moves);
  if (reduction_ == nullptr) return true;
  if (!reduction_->done()) return false;
  reduction_.reset();
  ++moves;
  if (is_half(vectors_.type)) {
    const auto scale = static_cast<float>(vectors_.scale);
    vectors_.type == DataType::float16 ? narrow<float16>(wide_, scale, vectors_.result)
                                       : narrow<bfloat16>(wide_, scale, vectors_.result);
  } else if (vectors_.scale != 1) {
    const board::Term sum{.values = sum_.data(), .weight = 1};
    board::weighted_sum(vectors_.type, vectors_.elements, {&sum, 1}, vectors_.scale,
                        vectors_.result);
  }
  return true;
}

}  // namespace syncopate::fabric

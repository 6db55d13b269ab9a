// A sum over machines, cut into a part for each: a machine gets its part from all others, adds it
// up in the order of machines, and gives the sum to them. So every value travels twice and is
// added once, by one machine, which makes the result the same everywhere. A long vector goes piece
// by piece. The result may take the place of what was summed up: sums are received when the parts
// have been sent.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace syncopate::fabric {

/// What is summed up over machines.
struct MachineSumVectors {
  void* mine = nullptr;
  void* result = nullptr;  ///< May be `mine`.
  std::size_t elements = 0;
  DataType type = DataType::float32;
  double scale = 1;  ///< The sum is multiplied by it.
};

class SumByParts {
 public:
  /// Whether it is the better way for so many bytes: messages should not be too small for what
  /// each costs, nor too many at once.
  static bool pays(std::size_t bytes, int machines) {
    return machines <= kMostMachines && bytes >= machines * kSmallestPart;
  }
  /// How long a piece is: its parts should be worth a message, and stay in the caches.
  static std::size_t piece_bytes(std::size_t machines);

  /// `machines` are those that take part, in increasing order: the same on each, `own` among them.
  SumByParts(fabric::Channel& channel, std::vector<int> machines, int own);

  /// Begins one; the one before is done. Uses `tag` and the next one.
  void begin(const MachineSumVectors& vectors, int tag);
  /// Moves it on; true from the moment that the result is there and `mine` may change. `moves`
  /// grows by what was done.
  bool done(std::uint64_t& moves);

 private:
  using Operations = std::vector<std::unique_ptr<fabric::Operation>>;
  static constexpr int kMostMachines = 64;
  static constexpr std::size_t kSmallestPart = 256;

  static bool all_done(Operations& operations, std::uint64_t& moves);
  /// The elements of the piece that machine `index` adds up.
  std::pair<std::size_t, std::size_t> part(std::size_t index) const;
  std::size_t bytes(std::size_t elements) const { return elements * size_of(vectors_.type); }
  std::byte* mine(std::size_t element) const {
    return static_cast<std::byte*>(vectors_.mine) + bytes(element);
  }
  std::byte* result(std::size_t element) const {
    return static_cast<std::byte*>(vectors_.result) + bytes(element);
  }
  void begin_piece(std::size_t begin);
  void add_up();
  void expect_sums();

  fabric::Channel& channel_;
  std::vector<int> machines_;
  std::size_t own_;  ///< Which of them this one is.
  MachineSumVectors vectors_;
  int tag_ = 0;
  std::size_t piece_begin_ = 0, piece_end_ = 0;  ///< The elements that are under way.
  std::vector<std::byte> parts_;                 ///< Of the others, in the order of machines.
  bool added_up_ = true;                         ///< This machine's part.
  bool expected_ = true;                         ///< The sums of the others.
  Operations parts_sent_, parts_received_, sums_sent_, sums_received_;
};

}  // namespace syncopate::fabric

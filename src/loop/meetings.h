// Where the ranks of a training loop meet: after the same agreed exchange, and at the end. A rank
// that has ended its loop says so with each meeting and takes part until all have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "syncopate/allreduce.h"
#include "syncopate/rank_set.h"
#include "syncopate/world.h"

namespace syncopate::loop {

/// What ranks tell each other when they meet.
struct Word {
  std::uint64_t round = 0;  ///< After which they meet; of a rank that has ended: unknown.
  bool ended = false;       ///< It has ended its loop, and only takes part.
  bool stop = false;        ///< It asks to end.
  /// A checksum of its weights; none if they are not what the others have.
  std::optional<std::uint64_t> replica;
};

/// What they have agreed on.
struct Agreed {
  std::uint64_t round = 0;
  bool all_ended = false;
  bool stop = false;
  bool replicas_equal = true;  ///< Where there are checksums.
  bool some_behind = false;    ///< Some have none;
  int leader = -1;             ///< and this is the first that has.
  RankSet ranks;               ///< Those that are there.
};

class Meetings {
 public:
  explicit Meetings(const World& world);

  /// Returns when all live ranks have come.
  Agreed meet(const Word& word);

 private:
  int rank_;
  Allreduce<double> words_;
};

/// A checksum of these bits: FNV-1a over 64-bit words.
std::uint64_t checksum(std::span<const float> values);

}  // namespace syncopate::loop

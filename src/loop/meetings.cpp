#include "loop/meetings.h"

#include <algorithm>
#include <cstring>

namespace syncopate::loop {
namespace {

/// Each rank's part of the sum. A double holds 53 bits: a checksum goes in two halves.
enum Field : std::size_t { kRound, kEnded, kStop, kReplica, kUpper, kLower, kFields };

constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;

}  // namespace

Meetings::Meetings(const World& world)
    : rank_(world.rank()), words_(world, std::size_t(world.size()) * kFields) {}

Agreed Meetings::meet(const Word& word) {
  double* all = words_.slot();
  std::fill_n(all, words_.size(), 0.0);
  double* mine = all + std::size_t(rank_) * kFields;
  mine[kRound] = double(word.round);
  mine[kEnded] = word.ended ? 1 : 0;
  mine[kStop] = word.stop ? 1 : 0;
  mine[kReplica] = word.replica ? 1 : 0;
  mine[kUpper] = double(word.replica.value_or(0) / kHalf);
  mine[kLower] = double(word.replica.value_or(0) % kHalf);

  const auto rounds = words_.exchange();
  const std::span<const double> sum = rounds.front().sum();
  Agreed agreed{.all_ended = true, .ranks = rounds.front().receipt().contributors};
  const auto said_by = [&](int rank) { return sum.data() + std::size_t(rank) * kFields; };
  for (const int rank : agreed.ranks.list()) {
    const double* theirs = said_by(rank);
    agreed.round = std::max(agreed.round, std::uint64_t(theirs[kRound]));
    agreed.all_ended = agreed.all_ended && theirs[kEnded] != 0;
    agreed.stop = agreed.stop || theirs[kStop] != 0;
    if (theirs[kReplica] == 0) {
      agreed.some_behind = true;
      continue;
    }
    if (agreed.leader < 0) agreed.leader = rank;
    const double* first = said_by(agreed.leader);
    agreed.replicas_equal =
        agreed.replicas_equal && theirs[kUpper] == first[kUpper] && theirs[kLower] == first[kLower];
  }
  return agreed;
}

std::uint64_t checksum(std::span<const float> values) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = 0xcbf29ce484222325;
  // Two values at a time.
  std::size_t i = 0;
  for (; i + 2 <= values.size(); i += 2) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, values.data() + i, sizeof bits);
    hash = (hash ^ bits) * kPrime;
    hash ^= hash >> 29;  // So that the upper halves reach the lower bits.
  }
  if (i < values.size()) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values.data() + i, sizeof bits);
    hash = (hash ^ bits) * kPrime;
  }
  return hash;
}

}  // namespace syncopate::loop

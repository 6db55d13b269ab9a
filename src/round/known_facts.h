// What a machine knows of all machines about the round to come: who has come, who counts, who waits
// and who lags, as they said last. A few bytes per machine and bits per rank, with counts that are
// kept, so that to ask costs nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "round/machines.h"
#include "round/trigger.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

/// What a machine says of itself about the round to come. Ranks are counted within the machine.
struct Facts {
  RankSet here;        ///< Those with a deposit.
  RankSet counting;    ///< Those that rounds may be waited for.
  bool waits = false;  ///< One of them waits for the round.
  /// Every rank that may hold rounds up has seen this one.
  std::uint64_t seen = kNobodyLags;

  int slowest = -1;  ///< The one that has seen no more, if any.

  static constexpr std::uint64_t kNobodyLags = std::numeric_limits<std::int64_t>::max();
  /// Whether every rank that counts has come.
  bool everyone_here() const;
  friend bool operator==(const Facts&, const Facts&) = default;
};

class KnownFacts {
 public:
  /// Every rank counts, and has seen `seen`.
  KnownFacts(Machines machines, std::uint64_t seen);

  /// `machine` has said this of itself. What its ranks have seen only grows.
  void set(int machine, const Facts& facts);
  /// A new round begins, with what all machines have said of themselves.
  void begin(std::span<const Facts> facts);

  bool is_here(int rank) const { return here_.contains(rank); }
  bool counts(int rank) const { return counting_.contains(rank); }
  bool counted_at_start(int rank) const { return counting_at_start_.contains(rank); }
  std::uint64_t seen(int machine) const { return seen_[machine]; }
  bool waits(int machine) const { return waits_.contains(machine); }
  bool somebody_waits() const { return waiting_machines_ > 0; }
  /// Whether no machine's ranks have yet to see round `round`.
  bool all_have_seen(std::uint64_t round) const;
  /// A rank that has not seen round `round`, by its number in the world; -1 if there is none.
  int who_lags(std::uint64_t round) const;
  /// The rank drawn for `round` among those that count.
  int drawn(const Trigger& trigger, std::uint64_t round) const;
  Attendance attendance(const Trigger& trigger, std::uint64_t round) const;

 private:
  void set_sets(int machine, const RankSet& here, const RankSet& counting);

  Machines machines_;
  RankSet here_;
  RankSet counting_;
  RankSet counting_at_start_;
  RankSet waits_;  ///< Machines.
  std::vector<std::uint64_t> seen_;
  std::vector<int> slowest_;
  Attendance attendance_;  ///< But for who is drawn.
  int waiting_machines_ = 0;
};

}  // namespace syncopate::round

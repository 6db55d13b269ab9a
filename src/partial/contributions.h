// What a round takes: it decides about every rank, exactly once, and lists what it took.
//
// Invariants
// 1. A round decides about a rank by a swap that changes `decided` of the rank's word from the
//    round before to itself, and takes the deposit in the same step. Any rank may do it; each swap
//    succeeds once. (Rounds that a pair has settled are decided about together: pair_runner.h.)
//      check: decide                                      test: NoDecisionIsSkipped
// 2. Once every word says this round or a later one, the contributors are fixed: all ranks list the
//    same. A word that says a later round ends the attempt to list (collect returns false).
//      check: collect (no word is behind)                 test: tests/explorer
// 3. What was taken does not change until the round is published.
//      check: Deposits::show                              test: ATakenSlotIsNotWritten
#pragma once

#include <span>
#include <vector>

#include "board/reduction.h"
#include "partial/memory.h"

namespace syncopate::partial {

class Contributions {
 public:
  Contributions(const Memory& memory, const Shape& shape);

  /// Decides about every rank. False: a later round has already decided about one.
  bool decide(RoundNumber round);
  /// Lists what `round` took; false if a later round has decided since.
  bool collect(RoundNumber round, bool last);
  /// Lists what lies in `slot` of every rank, for ranks that know where to look.
  void collect_from(int slot, RoundNumber round);

  /// Of what was listed last. Ranks are counted within the machine.
  const board::ResultHeader& header() const { return header_; }
  board::ResultHeader& header() { return header_; }
  std::span<const board::Term> terms() const { return terms_; }
  std::span<const std::uint64_t> contributors() const { return contributors_; }
  std::span<const std::uint64_t> reporters() const { return reporters_; }
  /// How many ranks contribute; some may have given weight to nothing.
  int count() const { return count_; }
  /// What their sum is multiplied by, in a world of this machine alone.
  double scale() const { return 1 / shape_.scaling().divisor(count(), header_.weight); }
  /// The slot of `rank` that was taken; kNoSlot: none.
  int slot_of(int rank) const { return taken_[rank]; }

  /// Asks for the lines that a round needs to take what lies there now.
  void prefetch() const;
  /// The same for a rank that expects to run the next round, which finds deposits where the last
  /// one did.
  void prefetch_again(int rank) const;

 private:
  void list(RoundNumber round, bool last);

  const Memory& memory_;
  const Shape& shape_;
  board::ResultHeader header_;
  int count_ = 0;
  std::vector<int> taken_;  ///< By rank: the slot that was taken, or kNoSlot.
  std::vector<board::Term> terms_;
  std::vector<std::uint64_t> contributors_;
  std::vector<std::uint64_t> reporters_;
};

}  // namespace syncopate::partial

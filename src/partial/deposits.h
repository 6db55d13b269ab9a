// A rank's own side of the board: where it writes, and how what it wrote gets onto the board, alone
// or added to what is still there.
//
// Invariants (checks: src/base/check.h; tests without a folder: tests/partial/invariants_test.cpp)
// 1. A slot is free, written by its owner, deposited, or taken by a round that still reads it. The
//    decide word says which is deposited and which was taken; the owner knows which it writes.
//      check: writable_slot, put, arrive (one is always free) test: ARankAlwaysFindsASlot
// 2. Only the owner puts a deposit, by a swap of its word. Only a round takes it, by a swap of the
//    same word (contributions.h). So each deposit is in exactly one round.
//      check: Contributions::decide                       test: tests/explorer
// 3. What is deposited does not change. To add to it the owner writes the sum into another slot and
//    swaps that in: a rank that dies in between takes nothing with it.
//      check: merge (into neither of the two)             test: dead-in-the-middle-of-a-merge
// 4. A taken slot is written again only when its round is published, and by a rank of a pair only
//    when the other has seen it.
//      check: show                                        test: ATakenSlotIsNotWritten
#pragma once

#include <optional>

#include "partial/participants.h"
#include "partial/results.h"

namespace syncopate::partial {

class Deposits {
 public:
  enum class Put {
    dropped,  // too old for the policy
    added,    // to what this rank had on the board already
    arrived,  // this rank had nothing on the board before
  };
  enum class Form {
    values,  // count `weight` times
    sum,     // of values times their weights, which are `weight` together
  };

  Deposits(const Memory& memory, const Shape& shape, const Settled& settled,
           const Participants& participants, const Results& results);

  /// A slot that this rank may write to.
  int writable_slot() const;
  void* values(int slot) const { return memory_.values(me_, slot); }

  /// Says what is in `slot`. `base` is the last round that the model has seen with which the values
  /// were computed.
  void describe(int slot, double weight, RoundNumber base, Time now, Form form);
  /// Puts what was described on the board, together with what is still there.
  Put put(int slot);
  /// Arrives without values.
  Put arrive(RoundNumber base, Time now);
  /// The one or the other: kNoSlot stands for no values.
  Put put(int slot, RoundNumber base, Time now) {
    return slot == kNoSlot ? arrive(base, now) : put(slot);
  }

  /// Whether a deposit for `round` would be alone, and the first that the round can take.
  bool first_for(RoundNumber round) const;
  /// A round has taken the last deposit, without saying so in our word (pair_runner.h).
  void note_taken() { expected_word_ = word().load(); }

  /// Copies what this rank has on the board and no round has taken, as a sum, and returns what it
  /// adds to the total weight; nothing if there is nothing.
  std::optional<double> copy_carried(void* into) const;
  /// From now on nothing is written over this rank's deposits, taken or not.
  void keep();

  /// Deposits of this rank that were dropped so far.
  std::uint64_t dropped() const { return dropped_; }
  /// Those of them that no round has reported yet.
  std::uint64_t unreported() const;
  /// Those that wait for this rank's next deposit to be reported with.
  std::uint32_t untold() const { return unreported_; }
  /// Drops of an earlier run, to be reported with the next deposit.
  void report(std::uint64_t drops) { unreported_ += static_cast<std::uint32_t>(drops); }

 private:
  Shared<std::uint64_t>& word() const { return memory_.words[me_]; }
  Note& note(int slot) const { return memory_.note(me_, slot); }
  /// What our word means, with the rounds that are over though it does not say so.
  DecideWord meaning(std::uint64_t value) const;
  bool taken_is_free(const DecideWord& word) const;
  int free_slot(const DecideWord& word, int avoid) const;
  /// Puts `slot` on the board if our word is still `value`, which means `now`; else reads it anew.
  bool show(int slot, DecideWord now, std::uint64_t& value);
  /// Reads deposits of this rank while its word is `value`; false, and nothing read, if it is not.
  /// What `read` has made of them counts only if the word is still the same afterwards.
  template <typename Read>
  bool read_while(std::uint64_t value, const Read& read) const;
  void merge(int older, int fresh, int into);
  bool too_old(RoundNumber base, RoundNumber taken_in) const {
    return taken_in - 1 - base >= shape_.younger_than;
  }

  const Memory& memory_;
  const Shape& shape_;
  const Settled& settled_;
  const Participants& participants_;
  const Results& results_;
  int me_;
  bool in_turn_;  ///< Slots are used in turn, and read by the other rank (pair.h).
  bool keeps_ = false;
  std::uint64_t dropped_ = 0;
  std::uint32_t unreported_ = 0;
  std::uint64_t expected_word_ = 0;  ///< What our word will be once a round has taken the deposit.
};

}  // namespace syncopate::partial

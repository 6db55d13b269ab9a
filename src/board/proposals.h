// Where the ranks of a machine agree on each collective before it is made: every rank proposes what
// it is about to make, and all compare. Waits for nothing (world/agreements.h does).
#pragma once

#include <cstdint>
#include <string>

#include "board/event.h"
#include "board/roster.h"

namespace syncopate::board {

class Proposals {
 public:
  explicit Proposals(const Roster& roster) : roster_(roster), seats_(roster.seats()) {}

  /// Proposes the next thing to do together; returns its number, 1, 2, 3 …
  std::uint64_t propose(const Proposal& proposal, const Attachment& attachment = {});
  /// After a timeout the proposal stays on the table: the same may be proposed again.
  void leave_on_the_table() { unanswered_ = true; }

  /// Whether every expected rank has made its proposal of that number.
  bool all_made(std::uint64_t number) const;
  /// Whether `local_rank` has yet to make it.
  bool awaits(int local_rank, std::uint64_t number) const {
    return roster_.expected(local_rank) && seats_[local_rank].proposed.load() < number;
  }
  /// "rank 3 (pid 4711, stopped), rank 5 (…)": those that have.
  std::string describe_awaited(std::uint64_t number) const;

  // For the ranks of one machine. The last to come compares for all, and tells the others, which
  // wait for the event.
  Event& event() const { return seats_.event(); }
  void compare_for_all(std::uint64_t number, Platform& platform) const;
  /// Whether it is known that all agree on that one.
  bool agreed(std::uint64_t number) const { return event().number() >= number; }
  /// What a rank proposed instead of this rank's last; null if it agrees, or is gone.
  const Proposal* disagreement(int local_rank) const;

  // For the agent: what a rank said.
  const Proposal& words(int local_rank, std::uint64_t number) const {
    return seats_[local_rank].proposals[number % 2];
  }
  const Attachment& attachment(int local_rank, std::uint64_t number) const {
    return seats_[local_rank].attachments[number % 2];
  }

 private:
  const Roster& roster_;
  const Seats& seats_;
  std::uint64_t proposed_ = 0;
  bool unanswered_ = false;  ///< The last wait for the others' proposals timed out.
};

}  // namespace syncopate::board

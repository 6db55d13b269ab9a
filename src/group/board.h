// The board of a group average: each rank's published weights, and a record per group and step
// that holds the group's round. Unlike a deposit, a publication is not used up: several rounds
// may read it, and a late rank's older one is read again.
//
// The life of the round of a group at step t, every part of which any member may perform:
//   start    the record's attempt word goes to round t with a reserved result buffer
//   choose   for each member, its newest publication is proposed and, if it is still the newest
//            when looked at again, confirmed. A publication that is proposed or confirmed in an
//            unfinished round is not overwritten by its owner: owner and helper each write their
//            own word before they read the other's, so one of them always notices.
//   reduce   chunks of the mean are claimed and written to the buffer (Reduction)
//   publish  the record's done word gets the buffer
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "board/event.h"
#include "board/grace_clock.h"
#include "board/platform.h"
#include "board/reduction.h"
#include "board/roster.h"
#include "board/words.h"
#include "syncopate/types.h"

namespace syncopate::board {

struct GroupShape {
  std::size_t elements = 0;
  DataType type = DataType::float32;
  int ranks = 1;        ///< Of this machine.
  int world_ranks = 1;  ///< Of all machines.
  int groups = 1;       ///< The most groups in one step.
  int window = 8;

  std::size_t bytes() const;
  std::size_t smallest_bytes() const;
  int buffers() const;
  bool across() const { return world_ranks != ranks; }
  /// Steps whose records exist at once.
  int depth() const { return window + 2; }
};

/// A group at a step, with its members on this machine.
struct LocalGroup {
  RoundNumber step = 0;
  int group = 0;
  std::span<const int> members;  ///< In increasing order, counted within the machine.
};

/// In a world of several machines this runs the rounds of groups that are on one; those of others
/// are run by the agents, through the MachineGroupBoard.
class GroupBoard {
 public:
  static constexpr int kSlots = 4;  ///< Worked on, published, and two that rounds may read.

  GroupBoard(std::byte* memory, const GroupShape& shape, Roster& roster, Platform& platform);

  /// A slot that neither holds this rank's newest publication nor is read by the rounds of ranks
  /// that are ahead; -1 if there is none. `group_of` tells this rank's group at a step.
  int free_slot(RoundNumber own_step, const std::function<int(RoundNumber)>& group_of) const;
  void* slot(int index) const { return slot_values(roster_.local_rank(), index); }
  /// Makes `slot` this rank's newest weights, those of `step`.
  void publish(int slot, RoundNumber step);
  /// Says that this rank waits for the mean of a step.
  void set_waiting(RoundNumber step) { ranks_[roster_.local_rank()].waiting.store(step); }
  bool waits(int rank, RoundNumber step) const { return ranks_[rank].waiting.load() == step; }
  void note_step_time(Duration time) {
    ranks_[roster_.local_rank()].step_time.store_relaxed(time.count());
  }
  Duration step_time(int rank) const { return Duration(ranks_[rank].step_time.load_relaxed()); }
  RoundNumber published_step(int rank) const;
  int published_slot(int rank) const;

  RoundNumber seen(int rank) const { return ranks_[rank].seen.load(); }
  /// Returns whether somebody had waited for others to catch up.
  bool release_through(RoundNumber step);
  void leave();
  /// Whether rounds use this rank's weights.
  bool counts(int rank) const { return left_[rank].load() == 0 && roster_.expected(rank); }
  bool window_allows(RoundNumber step);

  AttemptWord attempt(const LocalGroup& where) const;
  /// The finished result; -1 if there is none yet.
  int result(const LocalGroup& where) const;
  bool start(const LocalGroup& where);
  Reduction::Outcome help(const LocalGroup& where);
  void retry(const LocalGroup& where, AttemptWord given_up);
  /// Steps between the round and this rank's publication in its result; -1 if it is not in it.
  int own_lag(RoundNumber step) const;
  /// The oldest publication of this rank in rounds that it has yet to be through.
  std::optional<RoundNumber> oldest_copy_ahead() const;

  Time open_since(const LocalGroup& where, Time now) {
    return record(where).opened.since(where.step, now);
  }
  const Reduction& results() const { return reduction_; }
  /// News of one gathering: its start, its end, a publication of a member.
  Event& event(const LocalGroup& where) { return record(where).event; }
  /// News of ranks that have caught up.
  Event& progress_event() { return hot_->event; }
  void set_blocked() { hot_->blocked.store(1); }

 protected:
  struct alignas(64) Hot {
    Event event;
    Shared<RoundNumber> elsewhere;    ///< What every rank of the other machines has seen.
    Shared<std::uint32_t> blocked;    ///< Somebody waits for others to catch up.
    Shared<std::uint32_t> abandoned;  ///< An attempt was given up: buffers may be in use.
  };
  struct alignas(64) Record {  ///< One per group and step.
    Shared<std::uint64_t> attempt;
    Shared<std::uint64_t> done;
    GraceClock opened;
    Event event;
  };
  struct alignas(64) RankState {  ///< One per rank.
    Shared<RoundNumber> seen;
    Shared<std::uint64_t> publication;  ///< Step and slot.
    Shared<RoundNumber> waiting;        ///< The step whose mean it waits for, for the agent.
    Shared<std::int64_t> step_time;     ///< Typical, for grace in proportion to it.
  };
  struct Parts;
  friend struct GroupShape;

  GroupBoard(std::byte* memory, const GroupShape& shape, const Parts& parts, Roster& roster,
             Platform& platform);

  Record& record(const LocalGroup& where) const {
    return records_[(where.step % shape_.depth()) * shape_.groups + where.group];
  }
  Shared<std::uint64_t>& member_word(RoundNumber step, int rank) const {
    return members_[(step % shape_.depth()) * shape_.ranks + rank];
  }
  void* slot_values(int rank, int slot) const {
    return slots_ + (std::size_t(rank) * kSlots + slot) * slot_bytes_;
  }
  bool choose(RoundNumber step, int rank);
  RoundNumber slowest();
  bool reusable(int buffer, std::uint64_t reservation) const;
  /// `taker` has not been through the step, and keeps the buffer for the group until the group is
  /// written down beside it.
  int reserve(const LocalGroup& where, int taker, bool held = false);
  /// From now on a buffer that was held is free as any other, when its users have seen the step.
  void let_go(int buffer, const LocalGroup& where, int taker);
  std::span<Shared<std::uint64_t>> users(int buffer) const;
  void give_back(int buffer, RoundNumber step);
  void publish_result(const LocalGroup& where, AttemptWord attempt);

  GroupShape shape_;
  Roster& roster_;
  Platform& platform_;
  Hot* hot_;
  Record* records_;
  RankState* ranks_;
  Shared<std::uint8_t>* left_;
  Shared<std::uint64_t>* members_;
  Shared<std::uint64_t>* reservations_;  ///< Per buffer: the step and rank it was taken for.
  Shared<std::uint64_t>* uses_;          ///< Per buffer: how often it was taken.
  Shared<std::uint64_t>* users_;         ///< Per buffer: the group it was taken for, as bits.
  std::byte* slots_;
  std::size_t slot_bytes_;
  Reduction reduction_;

  RoundNumber slowest_ = 0;  ///< A bound from below on what every rank has seen.
  std::vector<Term> terms_;
  std::vector<std::uint64_t> contributors_;
  std::vector<std::uint64_t> nobody_;
};

}  // namespace syncopate::board

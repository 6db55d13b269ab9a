// One rank's side of a group average: publishes weights, runs or joins the round of its group,
// and merges the result. There is no thread behind it: whoever waits for a round runs it. Only the
// rounds of groups that span machines are run by the machines' agents (GroupTask).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "agent/handle.h"
#include "board/event.h"
#include "board/roster.h"
#include "board/wait.h"
#include "group/board.h"
#include "round/groups.h"
#include "round/step_times.h"
#include "syncopate/group_average.h"

namespace syncopate::detail {

class GroupExchange {
 public:
  /// `options` are complete. Other ranks may use the board only after every rank has called
  /// the constructor: it publishes the initial weights.
  GroupExchange(board::Roster& roster, board::Platform& platform, const Duration& timeout,
                std::byte* memory, std::size_t elements, DataType type, const void* initial,
                const GroupOptions& options, std::shared_ptr<void> kept = nullptr,
                AgentHandle agent = {});
  ~GroupExchange();
  GroupExchange(const GroupExchange&) = delete;
  GroupExchange& operator=(const GroupExchange&) = delete;

  /// For `ranks` ranks on one machine, or for one that is part of a larger world.
  static board::GroupShape shape(std::size_t elements, DataType type, int ranks,
                                 const GroupOptions& options);
  static board::GroupShape shape(std::size_t elements, DataType type, const board::Roster& roster,
                                 const GroupOptions& options);

  void* weights();
  /// Makes the weights this rank's contribution to the next step.
  void publish();
  bool ready();
  /// Waits for the step's result and puts the new weights into `out`, or into the slot that
  /// weights() then returns if `out` is null.
  GroupReceipt finish(void* out);
  void leave();

  std::size_t elements() const { return elements_; }
  DataType type() const { return type_; }
  board::GroupBoard& board() { return board_; }

 private:
  void check_open() const;
  bool everyone_at(std::uint64_t step) const { return plan_.everyone_at(step); }
  int group_at(std::uint64_t step) const { return plan_.group_at(step, roster_.rank()); }
  /// Those of this machine, counted within it.
  std::vector<int> members_at(std::uint64_t step) const;
  bool spans_machines(std::uint64_t step) const;
  void wait_for_agent();
  Duration grace() const;
  bool all_members_here() const;
  board::Time progress(board::Time now);
  board::Time overcome_stall(board::Time now);
  void await_result();
  /// Whether the round of this step waits for `rank` to come.
  bool awaits(int rank) const;
  int whom_we_wait_for() const;
  int await_free_slot();
  /// Waits for news, unless the deadline has passed.
  void pause(board::Event& event, std::uint64_t news, board::Time until);
  void merge(void* out, int buffer);
  void merge_late(void* out, int buffer);
  /// Keeps this rank's last step while rounds ahead have weights from before it.
  void keep_step();
  GroupReceipt receipt(int buffer) const;
  /// Whether `rank` keeps this one from the end of its step.
  bool holds_up(int rank) const;
  std::string blame() const;

  std::shared_ptr<void> kept_;  ///< First, to go last: the memory and the world.
  board::Roster& roster_;
  board::Platform& platform_;
  GroupOptions options_;
  std::size_t elements_;
  DataType type_;
  round::GroupPlan plan_;
  board::GroupBoard board_;
  board::Wait wait_;
  int helpers_;
  AgentHandle agent_;         ///< Where the world has several machines.
  std::vector<int> seat_of_;  ///< Of each rank of the world on this machine; -1 for the others.

  /// For LateMerge::keep: the weights as the last step found them, and steps that rounds ahead of
  /// this rank have not seen, oldest first.
  std::vector<std::byte> origin_;
  struct Taken {
    std::uint64_t step;
    std::vector<std::byte> movement;
  };
  std::deque<Taken> unseen_;

  int working_ = 0;         ///< The slot that weights() returns.
  std::uint64_t step_ = 0;  ///< Steps completed.
  bool published_ = false;  ///< Between publish() and finish().
  bool closed_ = false;
  std::vector<int> members_;  ///< Of this step's group, on this machine.
  bool spanning_ = false;     ///< Whether it has others.
  board::LocalGroup where_;
  board::Stall stall_;
  round::StepTimes step_times_;
  board::Time computing_since_ = 0;
  Duration waited_{0};
  int waited_for_ = -1;
  bool blocked_ = false;  ///< The window holds the step up.
};

}  // namespace syncopate::detail

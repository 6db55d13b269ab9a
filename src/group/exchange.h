// One rank's side of a group average: publishes weights, waits for the mean of its group, and
// merges the two. What a round is, and when it starts, is the board's business (board.h,
// starter.h); how it is run, that of one of two runners, chosen when the collective is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include "agent/handle.h"
#include "board/event.h"
#include "board/roster.h"
#include "board/wait.h"
#include "group/agent_runner.h"
#include "group/board.h"
#include "group/local_runner.h"
#include "group/membership.h"
#include "group/merger.h"
#include "round/step_times.h"
#include "syncopate/group_average.h"

namespace syncopate::group {

class Exchange {
 public:
  /// `options` are complete. Other ranks may use the board only after every rank has called
  /// the constructor: it publishes the initial weights.
  Exchange(board::Roster& roster, board::Platform& platform, const Duration& timeout,
           std::byte* memory, const Shape& shape, const void* initial, const GroupOptions& options,
           std::shared_ptr<void> kept = nullptr, agent::AgentHandle agent = {});
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void* weights();
  /// Makes the weights this rank's contribution to the next step.
  void publish();
  bool ready();
  /// Waits for the step's result and puts the new weights into `out`, or into the slot that
  /// weights() then returns if `out` is null.
  GroupReceipt finish(void* out);
  void leave();

  Board& board() { return board_; }
  const Board& board() const { return board_; }

 private:
  using AnyRunner = std::variant<LocalRunner, AgentRunner>;
  enum class State {
    computing,  // the rank works on its weights
    published,  // they are on the board; the rank waits for the mean, or will
    closed,     // the rank has left
  };
  /// How long this rank waited, and for whom.
  struct Waited {
    Duration lasted{0};
    int rank = -1;
  };

  AnyRunner choose_runner(const GroupOptions& options, agent::AgentHandle agent);
  template <typename Action>
  decltype(auto) with_runner(const Action& action) {
    return std::visit(action, runner_);
  }
  void check_open() const;
  bool has_result() const { return board_.results.buffer_of(group_.here()) != kNoBuffer; }
  int free_slot() const;
  template <typename Runner>
  Waited await_result(Runner& runner);
  template <typename Runner>
  int await_free_slot(Runner& runner);
  /// The one loop: `advance` does what can be done, until `done`.
  template <typename Runner, typename Done, typename Advance>
  Waited await(Runner& runner, const Done& done, const Advance& advance);
  GroupReceipt receipt(int buffer, const Waited& waited);

  std::shared_ptr<void> kept_;  ///< First, to go last: the memory and the world.
  board::Roster& roster_;
  board::Platform& platform_;
  Board board_;
  Membership membership_;
  AnyRunner runner_;
  Merger merger_;
  board::Wait wait_;

  State state_ = State::computing;
  OwnGroup group_;   ///< At the step that was published last.
  int working_ = 0;  ///< The slot that weights() returns.
  bool measures_steps_;
  round::StepTimes step_times_;
  Time computing_since_;
};

}  // namespace syncopate::group

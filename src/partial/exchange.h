// One rank's side of a partial allreduce: deposits, waits for rounds, hands them out and lets go of
// them. What a round is, and when it starts, is the board's business (board.h, starter.h); how it
// is run, that of one of three runners, chosen when the collective is made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "board/wait.h"
#include "partial/agent_runner.h"
#include "partial/board.h"
#include "partial/local_runner.h"
#include "partial/pair_runner.h"
#include "partial/starter.h"
#include "round/step_times.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::detail {

class PartialExchange {
 public:
  using Board = partial::Board;
  using RoundNumber = partial::RoundNumber;
  using Time = partial::Time;

  PartialExchange(board::Roster& roster, board::Platform& platform, const Duration& timeout,
                  std::byte* memory, const partial::Shape& shape, const PartialOptions& options,
                  std::shared_ptr<void> kept = nullptr, AgentHandle agent = {});
  ~PartialExchange();
  PartialExchange(const PartialExchange&) = delete;
  PartialExchange& operator=(const PartialExchange&) = delete;

  void* writable_slot();
  void deposit_slot(double weight, Then then);
  void deposit(const void* values, std::size_t elements, double weight, Then then);
  void deposit_nothing(Then then);
  /// Deposits a sum that another run had carried.
  void restore(const void* sum, std::size_t elements, double weight);

  /// Returns the weight of what is carried.
  std::optional<double> copy_carried(void* into) const;
  void keep_deposits();

  bool ready();
  /// Waits for a round that this rank has not passed; returns how many there are. The first of them
  /// is passed() + 1.
  std::uint64_t await();
  const void* values(RoundNumber round) const;
  Receipt receipt(RoundNumber round) const;
  /// The rank is done with the rounds up to this one, which await() has handed out. What it has not
  /// passed when it calls again is handed out again.
  void pass(RoundNumber round);
  RoundNumber passed() const { return passed_; }
  /// Passes the round with the next call, or when stop_reading() says so.
  void read(RoundNumber round) { read_ = std::max(read_, round); }
  /// If that is the round read last: passes it now, or not at all unless the rank has `used` it.
  void stop_reading(RoundNumber round, bool used) noexcept;

  /// No more deposits from this rank.
  void stop();
  /// Whether the rank has passed the last round of all.
  bool finished() const { return last_ != 0 && std::max(passed_, read_) >= last_; }
  void leave();

  const PartialOptions& options() const { return options_; }
  Board& board() { return board_; }
  const Board& board() const { return board_; }
  /// For tests: where two ranks settle rounds; else null.
  const partial::PairRunner* pair() const { return std::get_if<partial::PairRunner>(&runner_); }

 private:
  using AnyRunner = std::variant<partial::LocalRunner, partial::PairRunner, partial::AgentRunner>;

  AnyRunner choose_runner(board::Roster& roster, board::Platform& platform, AgentHandle agent);
  template <typename Action>
  decltype(auto) with_runner(const Action& action) {
    return std::visit(action, runner_);
  }
  void check_open() const;
  void* own_slot();
  /// What every call begins with that may hand out rounds, or lets go of those handed out.
  void begin_call();
  void check_deposit(double weight, double largest);
  template <typename Runner>
  void put(Runner& runner, double weight, Then then, partial::Deposits::Form form);
  /// Says that this rank is here, and, if it will wait, that it waits. `clock_later`: the time of
  /// arrival is found out after the deposit.
  template <typename Runner>
  void arrive(Runner& runner, Then then, bool clock_later);
  template <typename Runner>
  std::uint64_t await(Runner& runner);
  template <typename Runner>
  std::uint64_t deliver(Runner& runner);
  void note_passed(RoundNumber round);
  void let_go(RoundNumber round);
  void set_waiting(bool waiting);
  bool measures_steps() const { return options_.grace.share > 0; }

  std::shared_ptr<void> kept_;  ///< First, to go last: the memory and the world.
  board::Roster& roster_;
  board::Platform& platform_;
  PartialOptions options_;
  Board board_;
  partial::Starter starter_;
  AnyRunner runner_;
  board::Wait wait_;

  int writing_ = partial::kNoSlot;  ///< The slot that the caller writes to.
  RoundNumber delivered_ = 0;  ///< The last round handed out; during a call, the last one passed.
  RoundNumber passed_ = 0;     ///< The last one that the caller is done with.
  RoundNumber read_ = 0;       ///< One that it has read, and passes with its next call.
  RoundNumber last_ = 0;       ///< The last round of all, once it is handed out.
  bool stopped_ = false;
  bool closed_ = false;
  bool waiting_ = false;  ///< Whether the others know that this rank waits.
  round::StepTimes step_times_;
  Time computing_since_ = 0;
  Time arrived_at_ = 0;  ///< Of the last deposit.
  std::uint64_t news_before_deposit_ = 0;
  RoundNumber awaited_round_ = 0;  ///< The round that `waited_` is about.
  Duration waited_{0};
};

}  // namespace syncopate::detail

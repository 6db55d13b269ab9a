// One rank's side of a partial allreduce: deposits, waits for rounds, hands them out and lets go of
// them. The functions behind the public header come straight here
// (src/world/partial_allreduce.cpp). What a round is, and when it starts, is the board's business
// (board.h, starter.h); how it is run, that of one of three runners, chosen when the collective is
// made.
#pragma once

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
#include "partial/reading.h"
#include "partial/receipts.h"
#include "partial/starter.h"
#include "partial/step_timer.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::detail {

class PartialExchange {
 public:
  using Board = partial::Board;
  using RoundNumber = partial::RoundNumber;
  using Time = partial::Time;

  PartialExchange(board::Roster& roster, board::Platform& platform, const Duration& timeout,
                  std::byte* memory, const partial::Shape& shape, const PartialOptions& options,
                  std::shared_ptr<void> kept = nullptr, agent::AgentHandle agent = {});
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
  RoundNumber passed() const { return reading_.passed(); }
  /// Passes the round with the next call, or when stop_reading() says so.
  void read(RoundNumber round) { reading_.read(round); }
  /// If that is the round read last: passes it now, or not at all unless the rank has `used` it.
  void stop_reading(RoundNumber round, bool used) noexcept;

  /// No more deposits from this rank.
  void stop();
  /// Whether the rank has passed the last round of all.
  bool finished() const { return reading_.finished(); }
  void leave();

  const PartialOptions& options() const { return options_; }
  Board& board() { return board_; }
  const Board& board() const { return board_; }
  /// For tests: where two ranks settle rounds; else null.
  const partial::PairRunner* pair() const { return std::get_if<partial::PairRunner>(&runner_); }

 private:
  using AnyRunner = std::variant<partial::LocalRunner, partial::PairRunner, partial::AgentRunner>;

  AnyRunner choose_runner(board::Roster& roster, board::Platform& platform,
                          agent::AgentHandle agent);
  template <typename Action>
  decltype(auto) with_runner(const Action& action) {
    return std::visit(action, runner_);
  }
  void check_open() const;
  void* own_slot();
  /// What every call begins with that may hand out rounds, or lets go of those handed out.
  void begin_call();
  void check_deposit(double weight, double largest);
  template <partial::Runner Runner>
  void put(Runner& runner, double weight, Then then, partial::Deposits::Form form);
  /// Says that this rank is here, and, if it will wait, that it waits.
  template <partial::Runner Runner>
  void arrive(Runner& runner, const partial::Arrival& arrival);
  template <partial::Runner Runner>
  std::uint64_t await(Runner& runner);
  template <partial::Runner Runner>
  std::uint64_t deliver(Runner& runner);
  void note_passed(RoundNumber round);
  void let_go(RoundNumber round);
  void set_waiting(bool waiting);
  void take_part_as(partial::Participation participation);

  std::shared_ptr<void> kept_;  ///< First, to go last: the memory and the world.
  board::Roster& roster_;
  board::Platform& platform_;
  PartialOptions options_;
  Board board_;
  partial::Starter starter_;
  AnyRunner runner_;
  board::Wait wait_;
  partial::Reading reading_;
  partial::Receipts receipts_;
  partial::StepTimer steps_;

  partial::Participation participation_ = partial::Participation::active;
  int writing_ = partial::kNoSlot;  ///< The slot that the caller writes to.
  bool waiting_ = false;            ///< Whether the others know that this rank waits.
  Time arrived_at_ = 0;             ///< Of the last deposit.
  std::uint64_t news_before_deposit_ = 0;
};

}  // namespace syncopate::detail

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
#include "partial/reader.h"
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
  /// is reader().passed() + 1.
  std::uint64_t await();
  partial::Reader& reader() { return reader_; }
  const partial::Reader& reader() const { return reader_; }

  /// No more deposits from this rank.
  void stop();
  void leave();

  Board& board() { return board_; }
  const Board& board() const { return board_; }

 private:
  using AnyRunner = std::variant<partial::LocalRunner, partial::PairRunner, partial::AgentRunner>;

  AnyRunner choose_runner(board::Roster& roster, board::Platform& platform,
                          agent::AgentHandle agent);
  template <typename Action>
  decltype(auto) with_runner(const Action& action) {
    return std::visit(action, runner_);
  }
  /// What every call begins with.
  void check_open() const {
    roster_.seat().check();
    if (participation_ == partial::Participation::left || reader_.finished()) [[unlikely]]
      refuse_closed();
  }
  [[noreturn]] static void refuse_closed();
  void* own_slot();
  void begin_call();
  void check_deposit(double weight, double largest);
  template <partial::Runner Runner>
  void put(Runner& runner, double weight, Then then, partial::Deposits::Form form);
  /// Says that this rank is here, and, if it will wait, that it waits.
  template <partial::Runner Runner>
  void arrive(Runner& runner, const partial::Arrival& arrival);
  template <partial::Runner Runner>
  std::uint64_t await(Runner& runner);
  std::uint64_t deliver();
  void set_waiting(bool waiting);
  void take_part_as(partial::Participation participation);

  std::shared_ptr<void> kept_;  ///< First, to go last: the memory and the world.
  board::Roster& roster_;
  board::Platform& platform_;
  Board board_;
  partial::Starter starter_;
  AnyRunner runner_;
  board::Wait wait_;
  partial::Reader reader_;
  partial::StepTimer steps_;

  partial::Participation participation_ = partial::Participation::active;
  int writing_ = partial::kNoSlot;  ///< The slot that the caller writes to.
  bool waiting_ = false;            ///< Whether the others know that this rank waits.
  Time arrived_at_ = 0;             ///< Of the last deposit.
  std::uint64_t news_before_deposit_ = 0;
};

}  // namespace syncopate::detail

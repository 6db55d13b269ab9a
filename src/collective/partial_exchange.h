// One rank's side of a partial allreduce: puts the board (where deposits lie and rounds run)
// and the triggers (when a round starts) together, waits, and writes receipts. There is no
// thread behind it: rounds are moved forward by ranks that wait. In a world of several machines
// the agent of each (PartialTask) starts rounds and publishes them; ranks help with the sums.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "board/event.h"
#include "board/partial_board.h"
#include "board/roster.h"
#include "collective/liaison.h"
#include "collective/waiting.h"
#include "round/step_times.h"
#include "round/trigger.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::detail {

class PartialExchange {
 public:
  PartialExchange(board::Roster& roster, board::Host& host, const Duration& timeout,
                  std::byte* memory, std::size_t elements, DataType type,
                  const PartialOptions& options, std::shared_ptr<void> kept = nullptr,
                  Liaison agent = {});
  ~PartialExchange();
  PartialExchange(const PartialExchange&) = delete;
  PartialExchange& operator=(const PartialExchange&) = delete;

  /// For `ranks` ranks on one machine, or for one that is part of a larger world.
  static board::PartialShape shape(std::size_t elements, DataType type, int ranks,
                                   const PartialOptions& options);
  static board::PartialShape shape(std::size_t elements, DataType type, const board::Roster& roster,
                                   const PartialOptions& options);

  void* writable_slot();
  void deposit_slot(double weight, Then then);
  void deposit(const void* values, std::size_t elements, double weight, Then then);
  void deposit_nothing(Then then);
  /// Deposits a sum that another run had carried.
  void restore(const void* sum, std::size_t elements, double weight);
  /// Returns the weight of what is carried.
  std::optional<double> copy_carried(void* into) const { return board_.copy_carried(into); }
  void keep_deposits() { board_.keep_deposits(); }
  bool ready();
  /// Waits for a round this rank has not seen; returns how many there are.
  std::uint64_t await();
  const void* values(std::uint64_t round) const;
  Receipt receipt(std::uint64_t round) const;
  void release_through(std::uint64_t round);
  /// No more deposits from this rank.
  void stop();
  bool finished() const { return finished_; }
  /// Whether the deposit that this rank waits with stays as it is: see PartialBoard::settle().
  bool firm() const { return firm_; }
  void leave();

  std::uint64_t seen() const { return board_.seen(); }
  std::uint64_t dropped() const { return board_.dropped(); }
  std::uint64_t unreported() const { return board_.unreported(); }
  void report(std::uint64_t drops) { board_.report(drops); }
  std::size_t elements() const { return elements_; }
  const PartialOptions& options() const { return options_; }
  board::PartialBoard& board() { return board_; }

 private:
  std::shared_ptr<void> kept_;  ///< First, to go last: the memory and the world.

  struct Outlook {
    bool start = false;        ///< The round may start now.
    bool last = false;         ///< … and it is the last one.
    board::Time again_at = 0;  ///< When looking again pays even without news.
  };

  void check_open() const;
  void let_go(std::uint64_t round);
  void check_deposit(double weight) const;
  void begin_deposit(Then then, bool firm = false);
  void end_deposit(Then then, board::PartialBoard::Put put);
  void offer();
  void set_waiting(bool waiting);
  round::Attendance attendance(std::uint64_t round) const;
  Duration grace() const;
  Outlook outlook(std::uint64_t round, board::Time now);
  board::Time progress(board::Time now);
  board::Time help_agent(board::Time now);
  board::Time overcome_stall(board::AttemptWord attempt, board::Time now);
  std::uint64_t deliver();
  void inspect(board::Time now);
  [[noreturn]] void give_up(std::uint64_t round, Duration waited);
  std::string blame(std::uint64_t round) const;

  board::Roster& roster_;
  board::Host& host_;
  Liaison agent_;  ///< Where the world has several machines, whose agents run the rounds.
  const Duration& timeout_;
  PartialOptions options_;
  std::size_t elements_;
  DataType type_;
  board::PartialBoard board_;
  board::Lookout lookout_;
  int helpers_;  ///< How many sleepers are worth waking to help with a large round.

  int writing_ = -1;  ///< The slot that the caller writes to.
  std::uint64_t delivered_ = 0;
  bool stopped_ = false;
  bool closed_ = false;
  pid_t process_;  ///< A fork of this process must not speak for the rank.
  bool finished_ = false;
  round::StepTimes step_times_;
  board::Time computing_since_ = 0;
  board::Time arrived_at_ = 0;  ///< Of the last deposit.
  std::uint64_t news_before_deposit_ = 0;
  bool settles_;           ///< Whether rounds can be settled: see PartialBoard::settle().
  bool firm_ = false;      ///< Whether the last deposit is firm.
  bool came_last_ = true;  ///< As far as the last deposit could tell.
  int last_in_a_row_ = 0;  ///< How often the last deposits completed the round.
  bool waiting_ = false;   ///< Whether the others know that this rank waits.
  board::Time inspected_at_ = 0;
  StallWatch stall_;
  std::uint64_t awaited_round_ = 0;  ///< The round that `waited_` is about.
  Duration waited_{0};
  int blocked_by_ = -1;  ///< The rank whose lag held up the awaited round.
};

}  // namespace syncopate::detail

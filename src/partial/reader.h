// The rounds that one rank has in its hands: which were handed out to it, what they hold, and what
// it is done with. What it is done with it lets go of, so that others may go on.
#pragma once

#include <cstdint>

#include "agent/handle.h"
#include "partial/board.h"
#include "partial/reading.h"
#include "partial/receipts.h"
#include "partial/starter.h"
#include "syncopate/receipt.h"

namespace syncopate::partial {

class Reader {
 public:
  Reader(Board& board, const Starter& starter, const board::Roster& roster,
         agent::AgentHandle agent)
      : board_(board),
        roster_(roster),
        reading_(board.window.seen()),
        receipts_(roster, board.results, starter, agent) {}

  // For the rank that reads.
  const void* values(RoundNumber round) const {
    return board_.results.buffers().values(board_.results.buffer_of(round));
  }
  Receipt receipt(RoundNumber round) const { return receipts_.make(round); }
  RoundNumber passed() const { return reading_.passed(); }
  /// The rank is done with the rounds up to this one, which were handed out. What it has not passed
  /// when it calls again is handed out again.
  void pass(RoundNumber round);
  /// Passes the round with the next call, or when stop_reading() says so.
  void read(RoundNumber round) { reading_.read(round); }
  /// If that is the round read last: passes it now, or not at all unless the rank has `used` it.
  void stop_reading(RoundNumber round, bool used) noexcept;
  /// Whether the rank has passed the last round of all.
  bool finished() const { return reading_.finished(); }

  // For the exchange.
  /// What every call begins with that may hand out rounds, or lets go of those handed out.
  void begin_call() {
    if (const RoundNumber read = reading_.to_pass(); read > 0) note_passed(read);
    reading_.begin();
  }
  /// The last round handed out; during a call, the last one passed.
  RoundNumber delivered() const { return reading_.delivered(); }
  RoundNumber next() const { return reading_.next(); }
  /// Hands out what is there; returns how many rounds that are.
  std::uint64_t deliver() {
    const std::uint64_t count = reading_.deliver(board_.results.published());
    if (board_.results.is_last(reading_.delivered())) reading_.deliver_last();
    return count;
  }
  /// Of the round awaited last; round 0: the rank did not have to wait.
  void note_wait(RoundNumber round, Duration waited) { receipts_.note_wait(round, waited); }

 private:
  void note_passed(RoundNumber round) {
    reading_.pass(round);
    // A fork lets go of nothing.
    if (!board_.settled.keeps(round) && roster_.seat().may_speak())
      board_.window.release_through(round);
  }

  Board& board_;
  const board::Roster& roster_;
  Reading reading_;
  Receipts receipts_;
};

inline void Reader::pass(RoundNumber round) {
  roster_.seat().check();  // Or others may have written over what the caller has just used.
  if (round > passed()) note_passed(round);
}

inline void Reader::stop_reading(RoundNumber round, bool used) noexcept {
  if (!reading_.reads(round)) return;
  used ? note_passed(round) : reading_.stop_reading();
}

}  // namespace syncopate::partial

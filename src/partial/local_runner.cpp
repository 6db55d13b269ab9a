#include "partial/local_runner.h"

#include "partial/blame.h"

namespace syncopate::partial {

LocalRunner::LocalRunner(Board& board, Starter& starter, board::Roster& roster,
                         board::Platform& platform)
    : board_(board),
      starter_(starter),
      roster_(roster),
      platform_(platform),
      stall_(roster, platform),
      helpers_(board::helpers_to_wake(roster, board.results.buffers().chunking().count)) {}

void LocalRunner::deposit(const Arrival& arrival, Time& arrived_at) {
  const Deposits::Put put = board_.deposits.put(arrival.slot, arrival.next - 1, arrived_at);
  came_last_ = true;
  if (starter_.trigger().kind == Trigger::Kind::all && put == Deposits::Put::arrived) {
    came_last_ = board_.participants.completes_attendance();
    last_in_a_row_ = came_last_ ? last_in_a_row_ + 1 : 0;
  }
  if (arrival.then == Then::go_on) offer(arrival.next);
}

Time LocalRunner::start(RoundNumber next, bool last, Time now) {
  if (board_.running.start(next, last)) {
    if (helpers_ > 0) board_.signal_helpers(helpers_);
  } else if (board_.running.attempt().round < next) {
    board_.window.set_blocked();
    return now + board::kShortly;
  }
  return 0;
}

Time LocalRunner::help(Time now) {
  const AttemptWord attempt = board_.running.attempt();
  if (board_.running.help() != RunningRound::Outcome::pending) return now;
  return stall_.overcome(attempt, now, board_.event(), [&] { board_.running.retry(attempt); });
}

Time LocalRunner::advance(RoundNumber next, Time now) {
  const RoundNumber published = board_.results.published();
  if (published >= next) return now;  // What we wait for is there: start nothing more.
  if (board_.running.attempt().round <= published) {
    const Starter::Outlook outlook = starter_.look(next, now);
    if (!outlook.start) return outlook.again_at;
    if (const Time later = start(next, outlook.last, now); later > 0) return later;
  }
  return help(now);
}

std::string LocalRunner::blame(RoundNumber round) const {
  const Participants& participants = board_.participants;
  const auto told = [](const std::string& found, const char* reason) {
    return (found.empty() ? "any deposit" : found) + reason;
  };
  if (board_.running.attempt().round >= round) {
    return told(chunk_holders(board_, roster_, round), " to finish its part of the sum");
  }
  if (starter_.blocked_by() >= 0) {
    return told(names_of(roster_, [&](int rank) { return participants.holds_up(rank, round); }),
                ", which lags behind by more than the window,");
  }
  const bool by_draw = starter_.trigger().kind == Trigger::Kind::majority;
  const int drawn = by_draw ? starter_.drawn(round) : -1;
  return told(names_of(roster_,
                       [&](int rank) {
                         return by_draw
                                    ? rank == drawn
                                    : participants.counts(rank) && !participants.has_deposit(rank);
                       }),
              " to arrive");
}

}  // namespace syncopate::partial

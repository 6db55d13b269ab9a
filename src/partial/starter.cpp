#include "partial/starter.h"

#include <vector>

#include "round/start.h"
#include "round/step_times.h"

namespace syncopate::partial {

using namespace std::chrono_literals;

Starter::Starter(Board& board, const Trigger& trigger, const Grace& grace)
    : board_(board), trigger_(trigger), grace_(grace) {}

int Starter::drawn(RoundNumber round) const {
  return round::draw(trigger_.seed, round, board_.shape.ranks,
                     [&](int rank) { return board_.participants.counts(rank); });
}

round::Attendance Starter::attendance(RoundNumber round) const {
  round::Attendance result;
  for (int rank = 0; rank < board_.shape.ranks; ++rank) {
    const bool here = board_.participants.has_deposit(rank);
    const bool counts = board_.participants.counts(rank);
    result.here += here ? 1 : 0;
    result.counting += counts ? 1 : 0;
    result.counting_here += here && counts ? 1 : 0;
    // One missing rank says it all; every further look would take a word from its owner.
    if (trigger_.kind == Trigger::Kind::all && counts && !here) break;
  }
  if (trigger_.kind == Trigger::Kind::majority) {
    const int rank = drawn(round);
    result.drawn_here = rank >= 0 && board_.participants.has_deposit(rank);
  }
  return result;
}

Duration Starter::grace() const {
  return round::grace_time(grace_, [&] {
    std::vector<Duration> times;
    for (int rank = 0; rank < board_.shape.ranks; ++rank) {
      const Duration time = board_.participants.step_time(rank);
      if (board_.participants.counts(rank) && time > 0ns) times.push_back(time);
    }
    return round::median(times);
  });
}

bool Starter::window_allows(RoundNumber round) {
  if (board_.window.allows(round)) return true;
  // Said before the second look: a rank that releases results from here on wakes those who wait.
  board_.window.set_blocked();
  if (board_.window.allows(round)) return true;
  for (int rank = 0; rank < board_.shape.ranks; ++rank) {
    if (board_.participants.holds_up(rank, round)) blocked_by_ = rank;
  }
  return false;
}

/// What the board says, for round::outlook().
struct Starter::Look {
  Starter& starter;
  RoundNumber round;
  Asker asker;
  bool follows;
  round::Attendance here;

  /// A rank that only follows leaves it to the others to start rounds, until it is the last.
  bool trigger_holds() const {
    return follows ? here.counting == 0 : round::holds(starter.trigger_, here);
  }
  bool in_window() const { return starter.window_allows(round); }
  bool all_here() const { return here.everyone(); }
  Duration grace() const { return starter.grace(); }
  Time open_since(Time now) const {
    return starter.board_.memory.control->opened.since(round, now);
  }
  bool is_awaited() const {
    return asker == Asker::waits || starter.board_.participants.anyone_waits(round);
  }
};

Starter::Outlook Starter::look(RoundNumber round, Time now, Asker asker) {
  const Participants& participants = board_.participants;
  const bool follows = participants.participation(participants.me()) == Participation::finishing;
  Look asked{.starter = *this,
             .round = round,
             .asker = asker,
             .follows = follows,
             .here = attendance(round)};
  const round::Outlook found = round::outlook(asked, now);
  const bool start = found.start == round::Outlook::Start::now;
  return {.start = start, .last = start && follows, .again_at = found.again_at};
}

}  // namespace syncopate::partial

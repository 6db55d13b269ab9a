#include "partial/starter.h"

#include <cmath>
#include <vector>

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
  if (grace_.share <= 0) return grace_.fixed;
  std::vector<Duration> times;
  for (int rank = 0; rank < board_.shape.ranks; ++rank) {
    const Duration time = board_.participants.step_time(rank);
    if (board_.participants.counts(rank) && time > 0ns) times.push_back(time);
  }
  return Duration(std::llround(double(round::median(times).count()) * grace_.share));
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

Starter::Outlook Starter::look(RoundNumber round, Time now, Asker asker) {
  const round::Attendance here = attendance(round);
  const Participants& participants = board_.participants;
  const bool follows = participants.participation(participants.me()) == Participation::finishing;
  // A rank that only follows leaves it to the others to start rounds, until it is the last.
  if (follows ? here.counting > 0 : !round::holds(trigger_, here)) return {};
  if (!window_allows(round)) return {};
  Outlook outlook{.start = true, .last = follows};
  if (!here.everyone()) {
    if (const Duration open = grace(); open > 0ns) {
      // Noted even where no rank waits yet: grace counts from the trigger.
      const Time end = board_.memory.control->opened.since(round, now) + open.count();
      if (now < end) outlook = {.again_at = end};
    }
  }
  if (asker == Asker::offers && !participants.anyone_waits(round)) return {};
  return outlook;
}

}  // namespace syncopate::partial

#include "group/local_runner.h"

#include <algorithm>

namespace syncopate::group {

LocalRunner::LocalRunner(Board& board, const Membership& membership, const GroupOptions& options,
                         board::Roster& roster, board::Platform& platform)
    : board_(board),
      membership_(membership),
      roster_(roster),
      starter_(board, options.trigger, options.grace),
      stall_(roster, platform),
      stalls_ahead_(board.shape.window, board::Stall(roster, platform)),
      helpers_(board::helpers_to_wake(roster, board.results.buffers().chunking().count)) {}

Outlook LocalRunner::advance(const OwnGroup& group, Time now) {
  const LocalGroup where = group.here();
  blocked_ = false;  // Another may have started the round that the window held up before.
  if (board_.rounds.attempt(where).round < where.step) {
    const Starter::Outlook outlook = starter_.look(group, now);
    blocked_ = outlook.blocked;
    if (!outlook.start) return {.again_at = outlook.again_at, .releases = blocked_};
    if (board_.rounds.start(where)) {
      if (helpers_ > 0) board_.rounds.signal_helpers(where, helpers_);
    } else if (board_.rounds.attempt(where).round < where.step) {
      board_.window.set_blocked();
      blocked_ = true;
      return {.again_at = now + board::kShortly, .releases = true};
    }
  }
  return {.again_at = help(where, stall_, now)};
}

Time LocalRunner::help(const LocalGroup& where, board::Stall& stall, Time now) {
  if (board_.rounds.help(where) != Rounds::Outcome::pending) return now;
  const AttemptWord attempt = board_.rounds.attempt(where);
  if (attempt.round != where.step) return now;  // The others went on without this rank.
  return stall.overcome(attempt, now, board_.rounds.event(where),
                        [&] { board_.rounds.retry(where, attempt); });
}

Outlook LocalRunner::free_slots(const OwnGroup& group, Time now) {
  Time again_at = now + board::kShortly;
  for (RoundNumber step = group.step + 1; step <= group.step + board_.shape.window; ++step) {
    const OwnGroup ahead = membership_.at(step);
    if (ahead.spans || board_.rounds.attempt(ahead.here()).round != step) continue;
    if (board_.results.buffer_of(ahead.here()) != kNoBuffer) continue;
    board::Stall& stall = stalls_ahead_[step % stalls_ahead_.size()];
    again_at = std::min(again_at, help(ahead.here(), stall, now));
  }
  return {.again_at = again_at, .releases = true};
}

bool LocalRunner::awaits(const OwnGroup& group, int rank) const {
  if (blocked_) return board_.participants.holds_up(rank, group.step);
  return std::binary_search(group.members.begin(), group.members.end(), rank) &&
         starter_.is_missing(group, rank);
}

int LocalRunner::awaited(const OwnGroup& group) const {
  int found = -1;
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (awaits(group, rank)) found = roster_.rank_of(rank);
  }
  return found;
}

bool LocalRunner::holds_chunk(const LocalGroup& where, int rank) const {
  const AttemptWord attempt = board_.rounds.attempt(where);
  return attempt.round == where.step && board_.results.buffers().holds_chunk(attempt.buffer, rank);
}

bool LocalRunner::holds_up(const OwnGroup& group, int rank) const {
  const LocalGroup where = group.here();
  if (board_.results.buffer_of(where) == kNoBuffer) {
    return awaits(group, rank) || (!blocked_ && holds_chunk(where, rank));
  }
  // Our round is done; what we lack is a slot that no round of those ahead of us reads.
  for (RoundNumber step = group.step + 1; step <= group.step + board_.shape.window; ++step) {
    if (holds_chunk({.step = step, .group = membership_.group_at(step)}, rank)) return true;
  }
  return false;
}

std::string LocalRunner::blame(const OwnGroup& group) const {
  const auto names_of = [&](auto&& guilty) {
    std::string names;
    for (int rank = 0; rank < roster_.local_size(); ++rank) {
      if (rank == roster_.local_rank() || !guilty(rank)) continue;
      names += (names.empty() ? "" : ", ") + roster_.describe(rank);
    }
    return names;
  };
  std::string names = names_of([&](int rank) { return holds_up(group, rank); });
  // The one that it was has just moved on: it was one of these.
  if (names.empty()) names = names_of([&](int rank) { return board_.participants.counts(rank); });
  return names;
}

}  // namespace syncopate::group

#include "round/coordinator.h"

#include <algorithm>
#include <utility>

#include "round/reporter.h"

namespace syncopate::round {
namespace {

using Kind = Trigger::Kind;

/// How often it is spread who is missing.
constexpr int kMostSpreads = 4;
/// All messages of a round, per machine; and those that are kept for what decides, and the start.
constexpr std::int64_t kMostMessages = 8;
constexpr std::int64_t kReserve = 2;

}  // namespace

void Coordinator::begin(const RoundState& round) {
  heard_ = round.coordinates() ? RankSet(round.machines.count()) : RankSet();
  heard_any_ = asked_ = false;
  drawn_ = -1;
  waited_since_ = spread_at_ = kNever;
  spreads_ = 0;
  spread_ = RankSet();
  spent_ = 0;
}

void Coordinator::hear(int machine) {
  heard_.insert(machine);
  heard_any_ = true;
  ++spent_;
}

Time Coordinator::collect(const RoundState& round, const Attendance& here, Time now,
                          Outbox& outbox) {
  if (round.known.somebody_waits() && waited_since_ == kNever) {
    waited_since_ = now;
    spread_at_ = now + kCurious + kTimeToAnswer;
  }
  Time again_at = kNever;
  if (asked_) {
    ask_for_drawn(round, outbox);
  } else if (const Time at = when_to_ask(round, here, now); at > now) {
    again_at = at;
  } else {
    asked_ = true;
    drawn_ = round.trigger.kind == Kind::majority ? round.drawn() : -1;
    for (int other = 0; other < round.machines.count(); ++other) {
      if (other != round.machine && !heard_.contains(other)) ask(round, other, outbox);
    }
  }
  return std::min(again_at, look_for_missing(round, now, outbox));
}

Time Coordinator::when_to_ask(const RoundState& round, const Attendance& here, Time now) const {
  const bool waited = waited_since_ != kNever;
  // A round that is wanted, and waits for its grace to end.
  const bool open = waited && round.open_since != kNever;
  const Time curious = waited ? waited_since_ + kCurious : kNever;
  switch (round.trigger.kind) {
    case Kind::all:
      // A machine that has told has been patient, unless the round was held up.
      if (waited) return !round.held_up && heard_any_ ? now : waited_since_ + kBriefly;
      return kNever;
    case Kind::first:
      return waited && (open || !holds(round.trigger, here)) ? now : curious;
    case Kind::majority: {
      // Either it is here and no rank is known to wait, or another was drawn since, or it is open.
      const int rank = round.drawn();
      const bool elsewhere = rank >= 0 && round.machines.of(rank) != round.machine;
      return open || elsewhere || (here.drawn_here && !round.known.somebody_waits()) ? now : kNever;
    }
    case Kind::count:
      return open ? now : curious;  // All who have something to say say it unasked.
  }
  return kNever;
}

void Coordinator::ask(const RoundState& round, int machine, Outbox& outbox) {
  ++spent_;
  outbox.send(machine, {.kind = Message::Kind::ask,
                        .round = round.next,
                        .waited = round.known.somebody_waits(),
                        .drawn = drawn_});
}

void Coordinator::ask_for_drawn(const RoundState& round, Outbox& outbox) {
  if (round.trigger.kind != Kind::majority) return;
  const int rank = round.drawn();
  if (rank == drawn_) return;
  drawn_ = rank;
  if (rank >= 0 && round.machines.of(rank) != round.machine)
    ask(round, round.machines.of(rank), outbox);
}

bool Coordinator::can_afford_to_spread(const RoundState& round) const {
  const std::int64_t others = round.machines.count() - 1;
  const std::int64_t arrivals = round.trigger.kind == Kind::count ? round.machines.ranks() : 0;
  return spent_ + (1 + kReserve) * others <= kMostMessages * others + arrivals;
}

Time Coordinator::look_for_missing(const RoundState& round, Time now, Outbox& outbox) {
  if (waited_since_ == kNever || spreads_ == kMostSpreads) return kNever;
  if (now < spread_at_) return spread_at_;
  RankSet ranks = round.missing();
  if ((spreads_ > 0 && ranks == spread_) || !can_afford_to_spread(round)) return kNever;
  outbox.spread(
      1, round.machines.count(),
      {.kind = Message::Kind::missing, .round = round.next, .root = round.machine, .ranks = ranks});
  spread_ = std::move(ranks);
  spent_ += round.machines.count() - 1;
  spread_at_ = waited_since_ + kLonger * (now - waited_since_);
  return ++spreads_ == kMostSpreads ? kNever : spread_at_;
}

}  // namespace syncopate::round

// What an agreement asks, tells and spreads, and when: the coordinator first, then the others.
#include <algorithm>

#include "round/agreement.h"

namespace syncopate::round {
namespace {

using Kind = Trigger::Kind;

/// How long a machine that takes part on its own account waits for the others before it tells.
constexpr Time kPatience = 500'000;
/// How often it is spread who is missing, and how often a machine tells what decides nothing.
constexpr int kMostSpreads = 4;
constexpr int kMostWithoutDecision = 3;
/// All messages of a round, per machine; and those that are kept for what decides, and the start.
constexpr std::int64_t kMostMessages = 8;
constexpr std::int64_t kReserve = 2;

}  // namespace

Time Agreement::collect(const Attendance& here, Time now) {
  Collection& so_far = collection_;
  if (known_.somebody_waits() && so_far.waited_since == kNever) {
    so_far.waited_since = now;
    so_far.spread_at = now + kCurious + kTimeToAnswer;
  }
  Time again_at = kNever;
  if (so_far.asked) {
    ask_for_drawn();
  } else if (const Time at = when_to_ask(here, now); at > now) {
    again_at = at;
  } else {
    so_far.asked = true;
    so_far.drawn = trigger_.kind == Kind::majority ? known_.drawn(trigger_, next_) : -1;
    for (int other = 0; other < machines_.count(); ++other) {
      if (other != machine_ && !so_far.heard.contains(other)) ask(other);
    }
  }
  return std::min(again_at, look_for_missing(now));
}

Time Agreement::when_to_ask(const Attendance& here, Time now) const {
  const Time since = collection_.waited_since;
  const bool waited = since != kNever;
  const bool open = open_since_ != kNever;
  const Time curious = waited ? since + kCurious : kNever;
  switch (trigger_.kind) {
    case Kind::all:
      // A machine that has told has been patient, unless the round was held up.
      if (waited) return !held_up_ && collection_.heard_any ? now : since + kPatience;
      return kNever;
    case Kind::first:
      return waited && (open || !holds(trigger_, here)) ? now : curious;
    case Kind::majority: {
      // Either it is here and no rank is known to wait, or another was drawn since, or it is open.
      const int rank = known_.drawn(trigger_, next_);
      const bool elsewhere = rank >= 0 && machines_.of(rank) != machine_;
      return open || elsewhere || (here.drawn_here && !known_.somebody_waits()) ? now : kNever;
    }
    case Kind::count:
      return open ? now : curious;  // All who have something to say say it unasked.
  }
  return kNever;
}

void Agreement::ask(int machine) {
  ++collection_.spent;
  send(machine, {.kind = Message::Kind::ask,
                 .round = next_,
                 .waited = known_.somebody_waits(),
                 .drawn = collection_.drawn});
}

void Agreement::ask_for_drawn() {
  if (trigger_.kind != Kind::majority) return;
  const int rank = known_.drawn(trigger_, next_);
  if (rank == collection_.drawn) return;
  collection_.drawn = rank;
  if (rank >= 0 && machines_.of(rank) != machine_) ask(machines_.of(rank));
}

bool Agreement::can_afford_to_spread() const {
  const std::int64_t others = machines_.count() - 1;
  const std::int64_t arrivals = trigger_.kind == Kind::count ? machines_.ranks() : 0;
  return collection_.spent + (1 + kReserve) * others <= kMostMessages * others + arrivals;
}

Time Agreement::look_for_missing(Time now) {
  Collection& so_far = collection_;
  if (so_far.waited_since == kNever || so_far.spreads == kMostSpreads) return kNever;
  if (now < so_far.spread_at) return so_far.spread_at;
  RankSet ranks = missing();
  if ((so_far.spreads > 0 && ranks == so_far.spread) || !can_afford_to_spread()) return kNever;
  spread_missing(ranks, machines_.count());
  so_far.spread = std::move(ranks);
  so_far.spent += machines_.count() - 1;
  so_far.spread_at = so_far.waited_since + kLonger * (now - so_far.waited_since);
  return ++so_far.spreads == kMostSpreads ? kNever : so_far.spread_at;
}

Time Agreement::report(Time now) {
  const Time at = when_to_tell(now);
  told_.answer_due = false;
  if (at > now) return at;
  const bool caught_up_now = own_.seen >= needed() && told_.facts.seen < needed();
  if (when_decided(caught_up_now, now) > now) ++told_.without_decision;
  told_.any = true;
  told_.facts = own_;
  send(coordinator_, {.kind = Message::Kind::facts, .round = next_, .facts = own_});
  return kNever;
}

Time Agreement::when_to_tell(Time now) const {
  const Facts& said = told_.facts;
  const bool caught_up_now = own_.seen >= needed() && said.seen < needed();
  const bool news = caught_up_now || own_.here != said.here || own_.counting != said.counting ||
                    own_.waits != said.waits;
  if (!news) return kNever;
  if (told_.answer_due) return now;
  Time at = when_decided(caught_up_now, now);
  const Time since = std::min(waiting_since_, told_.asked_at);
  if (since != kNever && told_.without_decision < kMostWithoutDecision) {
    Time long_enough = kCurious;
    for (int i = 0; i < told_.without_decision; ++i) long_enough *= kLonger;
    at = std::min(at, since + long_enough);
  }
  return at;
}

Time Agreement::when_decided(bool caught_up_now, Time now) const {
  if (own_.seen < needed()) return kNever;  // The round waits for that first.
  const Facts& said = told_.facts;
  if (own_.counting != said.counting) return now;
  if (trigger_.kind == Kind::all) return when_all_decided(caught_up_now, now);
  if (caught_up_now) return now;
  const bool subscribed = told_.any || told_.asked;
  if (subscribed && own_.everyone_here() && !said.everyone_here()) return now;
  const bool waits_now = own_.waits && !said.waits;
  switch (trigger_.kind) {
    case Kind::first:
      if (waits_now && !told_.waited) return now;
      return subscribed && said.here.empty() && !own_.here.empty() ? now : kNever;
    case Kind::majority: {
      if (subscribed && waits_now && !told_.waited) return now;
      const int rank = told_.drawn;
      if (rank < 0 || machines_.of(rank) != machine_) return kNever;
      const int local = machines_.local(rank);
      return own_.here.contains(local) && !said.here.contains(local) ? now : kNever;
    }
    default:
      return waits_now || own_.here != said.here ? now : kNever;
  }
}

Time Agreement::when_all_decided(bool caught_up_now, Time now) const {
  const Facts& said = told_.facts;
  const bool subscribed = told_.any || told_.asked;
  const bool here_now = own_.everyone_here() && !said.everyone_here();
  if (own_ranks_are_here()) {
    const bool waits_now = own_.waits && !said.waits && !told_.waited;
    if (!here_now && !waits_now && !caught_up_now) return kNever;
    return held_up_ || subscribed || waiting_since_ == kNever ? now : waiting_since_ + kPatience;
  }
  if (here_now && subscribed) return now;
  return caught_up_now ? told_.caught_up_at + kPatience : kNever;
}

}  // namespace syncopate::round

#include "round/reporter.h"

#include <algorithm>

namespace syncopate::round {
namespace {

using Kind = Trigger::Kind;

/// How often a machine tells what decides nothing.
constexpr int kMostWithoutDecision = 3;

}  // namespace

void Reporter::begin(const RoundState& round) {
  told_ = round.own;
  told_any_ = asked_ = waited_ = answer_due_ = false;
  drawn_ = -1;
  asked_at_ = caught_up_at_ = kNever;
  without_decision_ = 0;
  if (round.own.seen >= round.needed()) caught_up_at_ = 0;
}

void Reporter::hear(const Message& question, Time now) {
  asked_ = answer_due_ = true;
  waited_ = waited_ || question.waited;
  drawn_ = question.drawn;
  asked_at_ = std::min(asked_at_, now);
}

void Reporter::note_own(const RoundState& round, Time now) {
  if (round.own.seen >= round.needed()) caught_up_at_ = std::min(caught_up_at_, now);
}

Time Reporter::report(const RoundState& round, Time now, Outbox& outbox) {
  const Time at = when_to_tell(round, now);
  answer_due_ = false;
  if (at > now) return at;
  if (when_decided(round, now) > now) ++without_decision_;
  told_any_ = true;
  told_ = round.own;
  outbox.send(round.coordinator,
              {.kind = Message::Kind::facts, .round = round.next, .facts = round.own});
  return kNever;
}

Time Reporter::when_to_tell(const RoundState& round, Time now) const {
  const Facts& own = round.own;
  const bool news = caught_up_now(round) || own.here != told_.here ||
                    own.counting != told_.counting || own.waits != told_.waits;
  if (!news) return kNever;
  if (answer_due_) return now;
  Time at = when_decided(round, now);
  const Time since = std::min(round.waiting_since, asked_at_);
  if (since != kNever && without_decision_ < kMostWithoutDecision) {
    Time long_enough = kCurious;
    for (int i = 0; i < without_decision_; ++i) long_enough *= kLonger;
    at = std::min(at, since + long_enough);
  }
  return at;
}

Time Reporter::when_decided(const RoundState& round, Time now) const {
  const Facts& own = round.own;
  if (own.seen < round.needed()) return kNever;  // The round waits for that first.
  if (own.counting != told_.counting) return now;
  if (round.trigger.kind == Kind::all) return when_all_decided(round, now);
  if (caught_up_now(round)) return now;
  if (subscribed() && own.everyone_here() && !told_.everyone_here()) return now;
  const bool waits_now = own.waits && !told_.waits;
  switch (round.trigger.kind) {
    case Kind::first:
      if (waits_now && !waited_) return now;
      return subscribed() && told_.here.empty() && !own.here.empty() ? now : kNever;
    case Kind::majority: {
      if (subscribed() && waits_now && !waited_) return now;
      if (drawn_ < 0 || round.machines.of(drawn_) != round.machine) return kNever;
      const int local = round.machines.local(drawn_);
      return own.here.contains(local) && !told_.here.contains(local) ? now : kNever;
    }
    default:
      return waits_now || own.here != told_.here ? now : kNever;
  }
}

Time Reporter::when_all_decided(const RoundState& round, Time now) const {
  const Facts& own = round.own;
  const bool here_now = own.everyone_here() && !told_.everyone_here();
  if (round.own_ranks_are_here()) {
    const bool waits_now = own.waits && !told_.waits && !waited_;
    if (!here_now && !waits_now && !caught_up_now(round)) return kNever;
    const bool at_once = round.held_up || subscribed() || round.waiting_since == kNever;
    return at_once ? now : round.waiting_since + kBriefly;
  }
  if (here_now && subscribed()) return now;
  return caught_up_now(round) ? caught_up_at_ + kBriefly : kNever;
}

}  // namespace syncopate::round

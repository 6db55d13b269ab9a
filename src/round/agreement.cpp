#include "round/agreement.h"

#include <algorithm>
#include <string>

#include "base/bad_message.h"
#include "round/start.h"

namespace syncopate::round {

using Kind = Trigger::Kind;

Agreement::Agreement(const Trigger& trigger, int window, Machines machines, int machine,
                     std::uint64_t rounds_before)
    : round_(trigger, window, std::move(machines), machine, rounds_before),
      outbox_(machine, round_.machines.count()) {
  begin_round();
}

void Agreement::begin_round() {
  round_.begin();
  coordinator_.begin(round_);
  reporter_.begin(round_);
}

Time Agreement::observe(const Facts& own, Duration grace, Time now) {
  grace_ = grace;
  observed_ = true;
  if (!started_) {
    const std::uint64_t seen = std::max(round_.own.seen, own.seen);
    round_.own = own;
    round_.own.seen = seen;
    round_.known.set(round_.machine, round_.own);
    reporter_.note_own(round_, now);
  }
  return consider(now);
}

void Agreement::check(int from, const Message& message) const {
  // A round ends when every machine has taken part, so none is more than one ahead of this.
  if (message.round < 1 || message.round > round_.next + 1) {
    throw BadMessage(from, "is about round " + std::to_string(message.round) +
                               " when this machine is at round " + std::to_string(round_.next));
  }
  switch (message.kind) {
    case Message::Kind::start:
    case Message::Kind::missing:
      if (message.span < 1 || message.span > round_.machines.count() || message.root < 0 ||
          message.root >= round_.machines.count()) {
        throw BadMessage(from, "goes to machines that there are not");
      }
      break;
    case Message::Kind::facts:
      if (message.facts.seen >= message.round && message.facts.seen != Facts::kNobodyLags) {
        throw BadMessage(from, "says that its ranks have seen round " +
                                   std::to_string(message.facts.seen) + " before it was run");
      }
      break;
    case Message::Kind::ask:
      if (message.drawn < -1 || message.drawn >= round_.machines.ranks()) {
        throw BadMessage(from, "asks for a rank that there is not");
      }
      break;
  }
  if (message.round != round_.next) return;
  const bool misplaced =
      (message.kind == Message::Kind::facts && !round_.coordinates()) ||
      (message.kind == Message::Kind::ask && from != round_.coordinator) ||
      (message.kind == Message::Kind::missing && message.root != round_.coordinator);
  if (misplaced) throw BadMessage(from, "takes another machine for the coordinator of the round");
}

void Agreement::keep_for_later(int from, const Message& message) {
  const auto before = std::find_if(early_.begin(), early_.end(), [&](const auto& one) {
    return one.first == from && one.second.kind == message.kind;
  });
  if (before == early_.end()) {
    early_.emplace_back(from, message);
  } else if (message.kind != Message::Kind::start || message.span > before->second.span) {
    before->second = message;
  }
}

Time Agreement::hear(int from, const Message& message, Time now) {
  check(from, message);
  if (message.round > round_.next) {
    keep_for_later(from, message);
  } else if (message.round == round_.next) {  // Otherwise all have been through that round.
    learn(from, message, now);
  }
  return observed_ ? consider(now) : now;
}

void Agreement::learn(int from, const Message& message, Time now) {
  switch (message.kind) {
    case Message::Kind::start:
      learn_start(from, message);
      break;
    case Message::Kind::facts:
      coordinator_.hear(from);
      round_.known.set(from, message.facts);
      break;
    case Message::Kind::ask:
      reporter_.hear(message, now);
      break;
    case Message::Kind::missing:
      informed_ = message.ranks;
      outbox_.spread(1, message.span, message);
      break;
  }
}

void Agreement::learn_start(int from, const Message& message) {
  // No machine knows more of this one's ranks than it has said itself.
  if (round_.own.seen < round_.needed()) {
    throw BadMessage(from, "starts round " + std::to_string(round_.next) +
                               " before this machine's ranks have come into its window");
  }
  started_ = true;
  announced_ = true;
  spread_start(message.span, message.root);
}

Time Agreement::consider(Time now) {
  if (announced_) return kNever;
  const Attendance here = round_.known.attendance(round_.trigger, round_.next);
  const Time start_at = try_to_start(here, now);
  if (announced_) return kNever;
  if (started_ || round_.own.waits) round_.waiting_since = std::min(round_.waiting_since, now);
  return std::min(start_at, round_.coordinates() ? coordinator_.collect(round_, here, now, outbox_)
                                                 : reporter_.report(round_, now, outbox_));
}

/// What this machine knows, for round::outlook().
struct Agreement::Known {
  RoundState& round;
  const Attendance& here;
  Duration open_for;

  /// Where no rank counts any more, it is the last round, or the end without one.
  bool trigger_holds() const { return here.counting == 0 || holds(round.trigger, here); }
  bool in_window() const { return round.window_allows(); }
  bool all_here() const { return here.everyone(); }
  Duration grace() const { return open_for; }
  Time open_since(Time now) const { return round.open_since = std::min(round.open_since, now); }
  bool is_awaited() const { return here.counting == 0 || round.known.somebody_waits(); }
};

Time Agreement::try_to_start(const Attendance& here, Time now) {
  if (round_.held_up && !round_.coordinates()) return kNever;
  Known known{.round = round_, .here = here, .open_for = grace_};
  const Outlook found = outlook(known, now);
  switch (found.start) {
    case Outlook::Start::now:
      start_everywhere();
      break;
    case Outlook::Start::blocked:
      if (round_.known.somebody_waits()) {
        round_.held_up_by = round_.known.who_lags(round_.needed());
      }
      break;
    case Outlook::Start::not_yet:
      if (round_.trigger.kind == Kind::all && !round_.held_up && round_.own_ranks_are_here()) {
        started_ = true;
      }
      break;
    case Outlook::Start::later:
      break;
  }
  return found.again_at;
}

void Agreement::start_everywhere() {
  started_ = true;
  announced_ = true;
  if (round_.trigger.kind != Kind::all || round_.held_up || !round_.coordinates()) {
    return spread_start(round_.machines.count(), round_.machine);
  }
  // The others have started by themselves.
  started_by_ = round_.machine;
  for (int other = 0; other < round_.machines.count(); ++other) {
    if (other == round_.machine || round_.known.waits(other)) continue;
    outbox_.send(
        other,
        {.kind = Message::Kind::start, .round = round_.next, .span = 1, .root = round_.machine});
  }
}

void Agreement::spread_start(int span, int root) {
  started_by_ = root;
  outbox_.spread(told_span_, span,
                 {.kind = Message::Kind::start, .round = round_.next, .root = root});
  told_span_ = std::max(told_span_, span);
}

void Agreement::complete(std::span<const Facts> facts, Time now) {
  const Facts& said = facts[round_.machine];
  round_.known.begin(facts);
  ++round_.next;
  const std::uint64_t seen = std::max(round_.own.seen, said.seen);
  // What every machine heard of the others just now, this one's own included.
  round_.own = {.here = RankSet(round_.machines.size(round_.machine)),
                .counting = said.counting,
                .seen = said.seen,
                .slowest = said.slowest};
  started_ = announced_ = false;
  informed_.reset();
  told_span_ = 1;
  started_by_ = -1;
  begin_round();
  round_.own.seen = seen;
  for (const auto& [from, message] : std::exchange(early_, {})) hear(from, message, now);
}

RankSet Agreement::missing() const {
  if (round_.coordinates() || !informed_) return round_.missing();
  // What was spread, corrected by what is known of this machine's ranks.
  RankSet result(round_.machines.ranks());
  const bool by_absence = round_.trigger.kind != Kind::majority && !round_.held_up;
  for (const int rank : informed_->list()) {
    if (round_.machines.of(rank) != round_.machine ||
        (!by_absence && !round_.known.is_here(rank))) {
      result.insert(rank);
    }
  }
  if (by_absence) round_.insert_absent(result, round_.machine);
  return result;
}

}  // namespace syncopate::round

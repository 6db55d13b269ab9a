#include "round/agreement.h"

#include <algorithm>
#include <string>

#include "base/bad_message.h"
#include "round/relay.h"

namespace syncopate::round {

using Kind = Trigger::Kind;

Agreement::Agreement(const Trigger& trigger, int window, Machines machines, int machine,
                     std::uint64_t rounds_before)
    : trigger_(trigger),
      window_(static_cast<std::uint64_t>(window)),
      machine_(machine),
      machines_(std::move(machines)),
      next_(rounds_before + 1),
      known_(machines_, rounds_before) {
  const int ranks = machines_.size(machine_);
  own_ = {.here = RankSet(ranks), .counting = RankSet(ranks), .seen = rounds_before};
  for (int rank = 0; rank < ranks; ++rank) own_.counting.insert(rank);
  begin_round();
}

void Agreement::begin_round() {
  find_coordinator();
  held_up_ = !window_allows();
  collection_ = {};
  if (coordinates()) collection_.heard = RankSet(machines_.count());
  told_ = {.facts = own_};
  if (own_.seen >= needed()) told_.caught_up_at = 0;
}

void Agreement::find_coordinator() {
  coordinator_ = static_cast<int>(next_ % static_cast<unsigned>(machines_.count()));
  if (trigger_.kind != Kind::majority) return;
  // The machine of the drawn rank, going by what all machines know alike.
  if (const int rank = known_.drawn(trigger_, next_); rank >= 0) coordinator_ = machines_.of(rank);
}

bool Agreement::own_ranks_are_here() const {
  return own_.everyone_here() && (own_.waits || own_.counting.empty());
}

Time Agreement::observe(const Facts& own, Duration grace, Time now) {
  grace_ = grace;
  observed_ = true;
  if (!started_) {
    const std::uint64_t seen = std::max(own_.seen, own.seen);
    own_ = own;
    own_.seen = seen;
    known_.set(machine_, own_);
    if (seen >= needed()) told_.caught_up_at = std::min(told_.caught_up_at, now);
  }
  return consider(now);
}

void Agreement::check(int from, const Message& message) const {
  // A round ends when every machine has taken part, so none is more than one ahead of this.
  if (message.round < 1 || message.round > next_ + 1) {
    throw BadMessage(from, "is about round " + std::to_string(message.round) +
                               " when this machine is at round " + std::to_string(next_));
  }
  switch (message.kind) {
    case Message::Kind::start:
    case Message::Kind::missing:
      if (message.span < 1 || message.span > machines_.count() || message.root < 0 ||
          message.root >= machines_.count()) {
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
      if (message.drawn < -1 || message.drawn >= machines_.ranks()) {
        throw BadMessage(from, "asks for a rank that there is not");
      }
      break;
  }
  if (message.round != next_) return;
  const bool misplaced = (message.kind == Message::Kind::facts && !coordinates()) ||
                         (message.kind == Message::Kind::ask && from != coordinator_) ||
                         (message.kind == Message::Kind::missing && message.root != coordinator_);
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
  if (message.round > next_) {
    keep_for_later(from, message);
  } else if (message.round == next_) {  // Otherwise all have been through that round.
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
      collection_.heard.insert(from);
      collection_.heard_any = true;
      ++collection_.spent;
      known_.set(from, message.facts);
      break;
    case Message::Kind::ask:
      told_.asked = told_.answer_due = true;
      told_.waited = told_.waited || message.waited;
      told_.drawn = message.drawn;
      told_.asked_at = std::min(told_.asked_at, now);
      break;
    case Message::Kind::missing:
      informed_ = true;
      missing_ = message.ranks;
      spread_missing(missing_, message.span);
      break;
  }
}

void Agreement::learn_start(int from, const Message& message) {
  // No machine knows more of this one's ranks than it has said itself.
  if (own_.seen < needed()) {
    throw BadMessage(from, "starts round " + std::to_string(next_) +
                               " before this machine's ranks have come into its window");
  }
  started_ = true;
  announced_ = true;
  spread_start(message.span, message.root);
}

Time Agreement::consider(Time now) {
  if (announced_) return kNever;
  const Attendance here = known_.attendance(trigger_, next_);
  const Time start_at = try_to_start(here, now);
  if (announced_) return kNever;
  if (started_ || own_.waits) waiting_since_ = std::min(waiting_since_, now);
  return std::min(start_at, coordinates() ? collect(here, now) : report(now));
}

Time Agreement::try_to_start(const Attendance& here, Time now) {
  if (held_up_ && !coordinates()) return kNever;
  const bool wanted = known_.somebody_waits() && holds(trigger_, here);
  if (!window_allows()) {
    if (wanted) held_up_by_ = known_.who_lags(needed());
  } else if (here.counting == 0) {
    start_everywhere();  // The last round, or the end without one.
  } else if (wanted) {
    open_since_ = std::min(open_since_, now);
    const Time open_until = open_since_ + grace_.count();
    if (!here.everyone() && now < open_until) return open_until;
    start_everywhere();
  } else if (trigger_.kind == Kind::all && !held_up_ && own_ranks_are_here()) {
    started_ = true;
  }
  return kNever;
}

void Agreement::start_everywhere() {
  started_ = true;
  announced_ = true;
  if (trigger_.kind != Kind::all || held_up_ || !coordinates()) {
    return spread_start(machines_.count(), machine_);
  }
  // The others have started by themselves.
  started_by_ = machine_;
  for (int other = 0; other < machines_.count(); ++other) {
    if (other == machine_ || known_.waits(other)) continue;
    send(other, {.kind = Message::Kind::start, .round = next_, .span = 1, .root = machine_});
  }
}

void Agreement::spread_start(int span, int root) {
  started_by_ = root;
  pass_on(told_span_, span, [&](int distance, int theirs) {
    send((machine_ + distance) % machines_.count(),
         {.kind = Message::Kind::start, .round = next_, .span = theirs, .root = root});
  });
  told_span_ = std::max(told_span_, span);
}

void Agreement::spread_missing(const RankSet& ranks, int span) {
  pass_on(1, span, [&](int distance, int theirs) {
    send((machine_ + distance) % machines_.count(), {.kind = Message::Kind::missing,
                                                     .round = next_,
                                                     .span = theirs,
                                                     .root = coordinator_,
                                                     .ranks = ranks});
  });
}

void Agreement::send(int machine, Message message) {
  outbox_.push_back({.to = machine, .message = std::move(message)});
}

void Agreement::complete(std::span<const Facts> facts, Time now) {
  known_.begin(facts);
  ++next_;
  const std::uint64_t seen = std::max(own_.seen, facts[machine_].seen);
  // What every machine heard of the others just now, this one's own included.
  own_ = {.here = RankSet(machines_.size(machine_)),
          .counting = facts[machine_].counting,
          .seen = facts[machine_].seen,
          .slowest = facts[machine_].slowest};
  started_ = announced_ = informed_ = false;
  told_span_ = 1;
  waiting_since_ = open_since_ = kNever;
  held_up_by_ = started_by_ = -1;
  begin_round();
  own_.seen = seen;
  for (const auto& [from, message] : std::exchange(early_, {})) hear(from, message, now);
}

RankSet Agreement::missing() const {
  RankSet result(machines_.ranks());
  const auto insert_absent = [&](std::span<const int> ranks) {
    for (const int rank : ranks) {
      if (known_.counts(rank) && !known_.is_here(rank)) result.insert(rank);
    }
  };
  const bool knows = coordinates() || !informed_;
  if (!window_allows() && (held_up_by_ >= 0 || !knows || !coordinates())) {
    const int lags = known_.who_lags(needed());
    if (knows && lags >= 0) result.insert(lags);
    if (knows) return result;
  }
  if (!knows) {
    // What was spread, corrected by what is known of this machine's ranks.
    const bool by_absence = trigger_.kind != Kind::majority && !held_up_;
    for (const int rank : missing_.list()) {
      if (machines_.of(rank) != machine_ || (!by_absence && !known_.is_here(rank))) {
        result.insert(rank);
      }
    }
    if (by_absence) insert_absent(machines_.on(machine_));
    return result;
  }
  if (trigger_.kind == Kind::majority) {
    const int rank = known_.drawn(trigger_, next_);
    if (rank >= 0 && !known_.is_here(rank)) result.insert(rank);
    return result;
  }
  for (int machine = 0; machine < machines_.count(); ++machine) {
    insert_absent(machines_.on(machine));
  }
  return result;
}

}  // namespace syncopate::round

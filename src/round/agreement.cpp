#include "round/agreement.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/bad_message.h"
#include "round/machines.h"

namespace syncopate::round {
namespace {

using Kind = Trigger::Kind;

/// How long a machine that takes part on its own account waits for the others before it tells.
constexpr Time kPatience = 500'000;

}  // namespace

Agreement::Agreement(const Trigger& trigger, int window, const std::vector<int>& machine_of,
                     int machine, std::uint64_t rounds_before)
    : trigger_(trigger),
      window_(static_cast<std::uint64_t>(window)),
      machine_(machine),
      ranks_of_(ranks_by_machine(machine_of)),
      whereabouts_(machine_of.size()),
      next_(rounds_before + 1),
      known_(machines()),
      heard_(machines()),
      askers_(machines()),
      said_(machines()) {
  for (int other = 0; other < machines(); ++other) {
    const int ranks = static_cast<int>(ranks_of_[other].size());
    known_[other] = {.here = RankSet(ranks), .counting = RankSet(ranks), .seen = rounds_before};
    for (int rank = 0; rank < ranks; ++rank) {
      whereabouts_[ranks_of_[other][rank]] = {other, rank};
      known_[other].counting.insert(rank);
    }
  }
  at_start_ = known_;
}

bool Agreement::counts(int rank) const {
  const auto [machine, number] = whereabouts_[rank];
  return known_[machine].counting.contains(number);
}

bool Agreement::is_here(int rank) const {
  const auto [machine, number] = whereabouts_[rank];
  return known_[machine].here.contains(number);
}

int Agreement::coordinator() const {
  const auto anybody = static_cast<int>(next_ % static_cast<unsigned>(machines()));
  if (trigger_.kind != Kind::majority) return anybody;
  // The machine of the drawn rank, going by what all machines know alike.
  const int rank =
      draw(trigger_.seed, next_, static_cast<int>(whereabouts_.size()), [&](int other) {
        const auto [machine, number] = whereabouts_[other];
        return at_start_[machine].counting.contains(number);
      });
  return rank < 0 ? anybody : whereabouts_[rank].first;
}

int Agreement::drawn() const {
  return draw(trigger_.seed, next_, static_cast<int>(whereabouts_.size()),
              [&](int rank) { return counts(rank); });
}

Attendance Agreement::attendance() const {
  Attendance result;
  for (int rank = 0; rank < static_cast<int>(whereabouts_.size()); ++rank) {
    result.here += is_here(rank) ? 1 : 0;
    result.counting += counts(rank) ? 1 : 0;
    result.counting_here += counts(rank) && is_here(rank) ? 1 : 0;
  }
  if (trigger_.kind == Kind::majority) {
    const int rank = drawn();
    result.drawn_here = rank >= 0 && is_here(rank);
  }
  return result;
}

bool Agreement::somebody_waits() const {
  return std::any_of(known_.begin(), known_.end(), [](const Facts& one) { return one.waits; });
}

bool Agreement::window_allows() const {
  return std::all_of(known_.begin(), known_.end(),
                     [&](const Facts& one) { return one.seen + window_ >= next_; });
}

bool Agreement::own_ranks_are_here() const {
  const Facts& own = known_[machine_];
  for (const int rank : own.counting.list()) {
    if (!own.here.contains(rank)) return false;
  }
  return own.waits || own.counting.empty();
}

Time Agreement::observe(const Facts& own, Duration grace, Time now) {
  grace_ = grace;
  observed_ = true;
  if (!started_) {
    Facts& known = known_[machine_];
    const std::uint64_t seen = std::max(known.seen, own.seen);
    known = own;
    known.seen = seen;
    // The others may wait for nothing but to hear this.
    if (!seen_told_ && seen + window_ >= next_) {
      seen_told_ = true;
      for (int other = 0; other < machines(); ++other) tell(other);
    }
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
      if (message.span < 1 || message.span > machines() || message.root < 0 ||
          message.root >= machines()) {
        throw BadMessage(from, "starts a round for machines that there are not");
      }
      break;
    case Message::Kind::facts:
      if (message.facts.seen >= message.round && message.facts.seen != Facts::kNobodyLags) {
        throw BadMessage(from, "says that its ranks have seen round " +
                                   std::to_string(message.facts.seen) + " before it was run");
      }
      break;
    case Message::Kind::ask:
      break;
  }
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
  } else {
    learn(from, message);
  }
  return observed_ ? consider(now) : now;
}

void Agreement::learn(int from, const Message& message) {
  if (message.kind == Message::Kind::facts) {
    known_[from].seen = std::max(known_[from].seen, message.facts.seen);
  }
  if (message.round != next_) return;  // Everybody has been through that round.
  switch (message.kind) {
    case Message::Kind::start:
      // Nobody knows more of this machine's ranks than it has said itself.
      if (known_[machine_].seen + window_ < next_) {
        throw BadMessage(from, "starts round " + std::to_string(next_) +
                                   " before this machine's ranks have come into its window");
      }
      started_ = true;
      announced_ = true;
      spread(message.span, message.root);
      break;
    case Message::Kind::facts: {
      heard_[from] = true;
      const std::uint64_t seen = known_[from].seen;
      known_[from] = message.facts;
      known_[from].seen = seen;
      break;
    }
    case Message::Kind::ask:
      askers_[from] = true;
      tell(from);
      break;
  }
}

bool Agreement::has_waited(Time long_enough, Time now) const {
  return waiting_since_ != kNever && now >= waiting_since_ + long_enough;
}

Time Agreement::consider(Time now) {
  Time again_at = kNever;
  if (!announced_) {
    const Attendance here = attendance();
    if (window_allows()) {
      if (here.counting == 0) {
        start_everywhere();  // The last round, or the end without one.
      } else if (holds(trigger_, here) && somebody_waits()) {
        open_since_ = std::min(open_since_, now);
        const Time open_until = open_since_ + grace_.count();
        if (here.everyone() || now >= open_until) {
          start_everywhere();
        } else {
          again_at = open_until;
        }
      } else if (trigger_.kind == Kind::all && !started_ && own_ranks_are_here()) {
        started_ = true;
      }
    } else if (known_[machine_].waits) {
      note_who_lags();
    }
    if (!announced_) {
      if (started_ || known_[machine_].waits) waiting_since_ = std::min(waiting_since_, now);
      if (!asked_ && worth_asking(here, now)) ask_everybody();
      tell_facts(now);
    }
  }
  // Whoever waits in vain finds out for whom.
  for (const Time later : {kPatience, kCurious}) {
    if (waiting_since_ == kNever || has_waited(later, now)) continue;
    again_at = std::min(again_at, waiting_since_ + later);
  }
  return again_at;
}

void Agreement::note_who_lags() {
  for (int other = 0; other < machines(); ++other) {
    const Facts& one = known_[other];
    if (one.seen + window_ < next_ && one.slowest >= 0) {
      held_up_by_ = ranks_of_[other][one.slowest];
    }
  }
}

void Agreement::start_everywhere() {
  started_ = true;
  announced_ = true;
  spread(machines(), machine_);
}

void Agreement::spread(int span, int root) {
  started_by_ = root;
  // The machine 2ʲ further on tells as many as follow it before the one 2ʲ⁺¹ further on.
  // Those that have most to tell come first.
  for (auto step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(span)) / 2); step > 0;
       step /= 2) {
    const int theirs = std::min(step, span - step);
    const int told = std::clamp(told_span_ - step, 0, step);
    if (theirs <= told) continue;
    send((machine_ + step) % machines(),
         {.kind = Message::Kind::start, .round = next_, .span = theirs, .root = root});
  }
  told_span_ = std::max(told_span_, span);
}

bool Agreement::worth_asking(const Attendance& here, Time now) const {
  const Facts& own = known_[machine_];
  if (has_waited(kCurious, now)) return true;
  if (coordinator() != machine_) return false;
  const bool heard = std::find(heard_.begin(), heard_.end(), true) != heard_.end();
  switch (trigger_.kind) {
    case Kind::all:
      return heard || (started_ && has_waited(kPatience, now));
    case Kind::first:
      return heard || own.waits;
    case Kind::majority: {
      // Either it is here and nobody is known to wait, or another was drawn since, or it is open.
      const int rank = drawn();  // None, if nobody counts and the window holds up the last round.
      return here.drawn_here || (rank >= 0 && whereabouts_[rank].first != machine_);
    }
    case Kind::count:
      return open_since_ != kNever;  // Otherwise everybody tells unasked.
  }
  return false;
}

bool Agreement::worth_telling(Time now) const {
  const Facts& own = known_[machine_];
  if (own.counting != at_start_[machine_].counting || open_since_ != kNever) return true;
  switch (trigger_.kind) {
    case Kind::all:
      return started_ && has_waited(kPatience, now);
    case Kind::first:
      return own.waits;
    case Kind::majority:
      return false;
    case Kind::count:
      return own.waits || !own.here.empty();
  }
  return false;
}

void Agreement::ask_everybody() {
  asked_ = true;
  for (int other = 0; other < machines(); ++other) {
    if (other != machine_) send(other, {.kind = Message::Kind::ask, .round = next_});
  }
}

void Agreement::tell_facts(Time now) {
  for (int other = 0; other < machines(); ++other) {
    if (other == machine_ || said_[other] == known_[machine_]) continue;
    if (askers_[other] || (other == coordinator() && worth_telling(now))) tell(other);
  }
}

void Agreement::tell(int machine) {
  if (machine == machine_) return;
  said_[machine] = known_[machine_];
  send(machine, {.kind = Message::Kind::facts, .round = next_, .facts = known_[machine_]});
}

void Agreement::send(int machine, Message message) {
  outbox_.push_back({.to = machine, .message = std::move(message)});
}

void Agreement::complete(std::span<const Facts> facts, Time now) {
  for (int other = 0; other < machines(); ++other) {
    const std::uint64_t seen = std::max(known_[other].seen, facts[other].seen);
    known_[other] = {.here = RankSet(static_cast<int>(ranks_of_[other].size())),
                     .counting = facts[other].counting,
                     .seen = seen,
                     .slowest = facts[other].slowest};
  }
  ++next_;
  // What every machine heard of the others just now, this one's own included.
  seen_told_ = facts[machine_].seen + window_ >= next_;
  at_start_ = known_;
  started_ = announced_ = asked_ = false;
  told_span_ = 1;
  std::fill(heard_.begin(), heard_.end(), false);
  std::fill(askers_.begin(), askers_.end(), false);
  std::fill(said_.begin(), said_.end(), Facts{});
  waiting_since_ = open_since_ = kNever;
  held_up_by_ = started_by_ = -1;
  for (const auto& [from, message] : std::exchange(early_, {})) hear(from, message, now);
}

RankSet Agreement::missing() const {
  RankSet result(static_cast<int>(whereabouts_.size()));
  if (!window_allows()) {
    if (held_up_by_ >= 0) result.insert(held_up_by_);
    return result;
  }
  if (trigger_.kind == Kind::majority) {
    if (const int rank = drawn(); rank >= 0 && !is_here(rank)) result.insert(rank);
    return result;
  }
  for (int rank = 0; rank < static_cast<int>(whereabouts_.size()); ++rank) {
    if (counts(rank) && !is_here(rank)) result.insert(rank);
  }
  return result;
}

}  // namespace syncopate::round

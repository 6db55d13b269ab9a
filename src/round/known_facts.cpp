#include "round/known_facts.h"

#include <algorithm>

namespace syncopate::round {

bool Facts::everyone_here() const {
  const std::vector<int> ranks = counting.list();
  return std::ranges::all_of(ranks, [this](int rank) { return here.contains(rank); });
}

KnownFacts::KnownFacts(Machines machines, std::uint64_t seen)
    : machines_(std::move(machines)),
      here_(machines_.ranks()),
      counting_(machines_.ranks()),
      waits_(machines_.count()),
      seen_(machines_.count(), seen),
      slowest_(machines_.count(), -1) {
  for (int rank = 0; rank < machines_.ranks(); ++rank) counting_.insert(rank);
  counting_at_start_ = counting_;
  attendance_.counting = machines_.ranks();
}

void KnownFacts::set_sets(int machine, const RankSet& here, const RankSet& counting) {
  int local = 0;
  for (const int rank : machines_.on(machine)) {
    const auto count = [&](int sign) {
      attendance_.here += is_here(rank) ? sign : 0;
      attendance_.counting += counts(rank) ? sign : 0;
      attendance_.counting_here += is_here(rank) && counts(rank) ? sign : 0;
    };
    count(-1);
    here.contains(local) ? here_.insert(rank) : here_.erase(rank);
    counting.contains(local) ? counting_.insert(rank) : counting_.erase(rank);
    count(+1);
    ++local;
  }
}

void KnownFacts::set(int machine, const Facts& facts) {
  set_sets(machine, facts.here, facts.counting);
  waiting_machines_ += (facts.waits ? 1 : 0) - (waits_.contains(machine) ? 1 : 0);
  facts.waits ? waits_.insert(machine) : waits_.erase(machine);
  seen_[machine] = std::max(seen_[machine], facts.seen);
  slowest_[machine] = facts.slowest;
}

void KnownFacts::begin(std::span<const Facts> facts) {
  const RankSet none;
  for (int machine = 0; machine < machines_.count(); ++machine) {
    set_sets(machine, none, facts[machine].counting);
    seen_[machine] = facts[machine].seen;
    slowest_[machine] = facts[machine].slowest;
  }
  waits_ = RankSet(machines_.count());
  waiting_machines_ = 0;
  counting_at_start_ = counting_;
}

bool KnownFacts::all_have_seen(std::uint64_t round) const {
  return std::ranges::all_of(seen_, [round](std::uint64_t seen) { return seen >= round; });
}

int KnownFacts::who_lags(std::uint64_t round) const {
  for (int machine = machines_.count() - 1; machine >= 0; --machine) {
    if (seen_[machine] < round && slowest_[machine] >= 0) {
      return machines_.on(machine)[slowest_[machine]];
    }
  }
  return -1;
}

int KnownFacts::drawn(const Trigger& trigger, std::uint64_t round) const {
  return draw(trigger.seed, round, machines_.ranks(), [this](int rank) { return counts(rank); });
}

Attendance KnownFacts::attendance(const Trigger& trigger, std::uint64_t round) const {
  Attendance result = attendance_;
  if (trigger.kind == Trigger::Kind::majority) {
    const int rank = drawn(trigger, round);
    result.drawn_here = rank >= 0 && is_here(rank);
  }
  return result;
}

}  // namespace syncopate::round

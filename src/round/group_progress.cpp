#include "round/group_progress.h"

#include <algorithm>

namespace syncopate::round {
namespace {

/// A machine asks so many others directly whether they have caught up, and the coordinator
/// otherwise.
constexpr int kFew = 2;

}  // namespace

void GroupProgress::observe(std::span<const GroupFacts> own, GroupOutbox& out) {
  const std::uint64_t seen = least_seen(own);
  slowest_ = std::min(seen, elsewhere());
  held_up_ = false;
  answer_about_own(seen, out);
  answer_about_all(seen, out);
}

void GroupProgress::note_seen(int machine, std::uint64_t step) {
  if (machine == machine_ || step <= seen_[machine]) return;
  const bool was_least = seen_[machine] == elsewhere_;
  seen_[machine] = step;
  if (!was_least || --at_least_ > 0) return;
  elsewhere_ = kBeyondAllSteps;
  for (int other = 0; other < machines(); ++other) {
    if (other == machine_ || seen_[other] > elsewhere_) continue;
    at_least_ = seen_[other] == elsewhere_ ? at_least_ + 1 : 1;
    elsewhere_ = seen_[other];
  }
}

void GroupProgress::note_all_seen(std::uint64_t step) {
  for (int machine = 0; machine < machines(); ++machine) note_seen(machine, step);
}

void GroupProgress::ask_who_lags(std::span<const GroupFacts> own, GroupOutbox& out) {
  std::erase_if(asked_steps_, [&](std::uint64_t step) { return step <= slowest_; });
  for (const GroupFacts& rank : own) {
    if (!rank.counts || rank.is_through() || window_allows(rank.published)) continue;
    held_up_ = true;
    const std::uint64_t wanted = rank.published - window_;
    if (elsewhere() >= wanted || !asked_steps_.insert(wanted).second) continue;
    const auto lagging = std::ranges::count_if(seen_, [&](auto seen) { return seen < wanted; });
    const int coordinator = coordinator_of(wanted, machines());
    // This machine's own entry is never noted.
    if (lagging - 1 <= kFew || coordinator == machine_) {
      ask_those_that_lag(wanted, out);
    } else {
      out.push_back({coordinator, {.kind = GroupMessage::Kind::ask_all, .step = wanted}});
    }
  }
}

void GroupProgress::ask_those_that_lag(std::uint64_t step, GroupOutbox& out) {
  for (int machine = 0; machine < machines(); ++machine) {
    if (machine == machine_ || seen_[machine] >= step || asked_[machine] >= step) continue;
    asked_[machine] = step;
    out.push_back({machine, {.kind = GroupMessage::Kind::ask, .step = step}});
  }
}

void GroupProgress::add(std::vector<Asker>& askers, int machine, std::uint64_t step) {
  const auto found = std::ranges::find(askers, machine, &Asker::machine);
  if (found == askers.end()) {
    askers.push_back({.machine = machine, .first = step, .last = step});
  } else {
    found->first = std::min(found->first, step);
    found->last = std::max(found->last, step);
  }
}

void GroupProgress::answer_about_own(std::uint64_t seen, GroupOutbox& out) {
  for (Asker& asker : askers_) {
    // It may wait for less than it has asked for last: each bit of the way is told.
    if (seen > asker.told) {
      out.push_back({asker.machine, {.kind = GroupMessage::Kind::seen, .step = seen}});
    }
    asker.told = seen;
  }
  std::erase_if(askers_, [seen](const Asker& asker) { return seen >= asker.last; });
  held_up_ = held_up_ || !askers_.empty();
}

void GroupProgress::answer_about_all(std::uint64_t seen, GroupOutbox& out) {
  for (Asker& asker : askers_of_all_) {
    if (slowest_ < asker.first) {
      ask_those_that_lag(asker.last, out);
      held_up_ = held_up_ || seen < asker.last;
      continue;
    }
    // The furthest step that is this machine's to speak of, and that all have seen.
    const auto every = static_cast<std::uint64_t>(machines());
    const std::uint64_t reached = std::min(slowest_, asker.last);
    const std::uint64_t told = reached - (reached + every - asker.last % every) % every;
    out.push_back({asker.machine, {.kind = GroupMessage::Kind::all_seen, .step = told}});
    asker.first = told + 1;
  }
  std::erase_if(askers_of_all_, [](const Asker& asker) { return asker.first > asker.last; });
}

}  // namespace syncopate::round

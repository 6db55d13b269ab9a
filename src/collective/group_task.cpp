#include "collective/group_task.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "collective/region.h"
#include "fabric/packet.h"
#include "round/step_times.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Time;

/// Each round uses two tags, and so does the average of all.
constexpr int kTags = (1 << 14) - 1;
/// From here on whoever waits wants to know for whom.
constexpr Time kCurious = 200'000'000;

}  // namespace

GroupTask::GroupTask(Agent::Means means, std::shared_ptr<Region> region,
                     const board::GroupShape& shape, const GroupOptions& options)
    : means_(std::move(means)),
      region_(std::move(region)),
      shape_(shape),
      options_(options),
      plan_(shape.world_ranks, options),
      board_(region_->data(), shape, means_.roster, means_.host),
      seat_of_(shape.world_ranks, -1),
      bytes_(shape.elements * size_of(shape.type)),
      whereabouts_(shape.ranks),
      seen_(means_.place.machines()),
      asked_(means_.place.machines()),
      askers_(means_.place.machines()),
      everybody_(shape.ranks),
      together_(means_, shape, board_, options.synchronise_every) {
  std::iota(everybody_.begin(), everybody_.end(), 0);
  for (const int rank : everybody_) seat_of_[means_.roster.number(rank)] = rank;
}

// Rounds of groups.

int GroupTask::tag(const Key& key) const {
  // Far fewer rounds than this are under way at once.
  const std::uint64_t number = key.first * static_cast<unsigned>(shape_.groups) + key.second;
  return kTogetherTag + 2 + 2 * static_cast<int>(number % kTags);
}

board::Gathering GroupTask::where(const Key& key, const Round& round) const {
  return {.step = key.first, .group = key.second, .members = round.members};
}

GroupTask::Round& GroupTask::round_of(const Key& key, int member) {
  const auto [found, fresh] = rounds_.try_emplace(key);
  Round& round = found->second;
  if (!fresh) return round;
  for (const int number : plan_.members_at(key.first, member)) {
    if (seat_of_[number] >= 0) round.members.push_back(seat_of_[number]);
    round.machines.push_back(means_.place.machine_of[number]);
  }
  std::sort(round.machines.begin(), round.machines.end());
  int members = 0;
  for (std::size_t i = 0; i < round.machines.size(); ++i) {
    members = i > 0 && round.machines[i] == round.machines[i - 1] ? members + 1 : 1;
    round.most = std::max(round.most, members);
  }
  round.machines.erase(std::unique(round.machines.begin(), round.machines.end()),
                       round.machines.end());
  round.here.resize(round.machines.size());
  return round;
}

void GroupTask::look_at_ranks(Time now) {
  for (const int rank : everybody_) {
    if (!board_.counts(rank)) continue;
    const std::uint64_t step = board_.published_step(rank);
    if (step == 0 || board_.seen(rank) >= step || plan_.everyone_at(step)) continue;
    Whereabouts& at = whereabouts_[rank];
    const int number = means_.roster.number(rank);
    if (at.step != step) {
      at = {.step = step};
      for (const int member : plan_.members_at(step, number)) {
        if (seat_of_[member] < 0) at.spanning = Key{step, plan_.group_at(step, number)};
      }
    }
    if (!at.spanning) continue;
    // As on one machine, a publication alone starts nothing.
    if (!board_.waits(rank, step)) continue;
    if (board_.result({.step = step, .group = at.spanning->second}) >= 0) continue;
    Round& round = round_of(*at.spanning, number);
    round.wanted_at = std::min(round.wanted_at, now);
  }
}

bool GroupTask::all_here(const Key& key, const Round& round) const {
  return std::all_of(round.members.begin(), round.members.end(), [&](int rank) {
    return !board_.counts(rank) || board_.published_step(rank) >= key.first;
  });
}

Duration GroupTask::grace(const Round& round) const {
  if (options_.grace.share <= 0) return options_.grace.fixed;
  std::vector<Duration> times;
  for (const int rank : round.members) {
    if (board_.counts(rank)) times.push_back(board_.step_time(rank));
  }
  return Duration(std::llround(double(round::median(times).count()) * options_.grace.share));
}

Time GroupTask::start_at(const Key& key, Round& round, Time now) {
  const bool here = all_here(key, round);
  const bool everybody = options_.trigger.kind == Trigger::Kind::all;
  if (everybody && !here) return kNever;
  if (!round.heads.empty()) return now;  // Another machine has started it.
  // What its last ranks wanted and no machine has begun is no longer wanted.
  if (!board_.anybody_counts()) return kNever;
  if (!board_.window_allows(key.first)) {
    board_.set_blocked();  // Whoever lags then calls when it has caught up.
    if (!board_.window_allows(key.first)) return kNever;
  }
  if (everybody) return now;
  const Duration open = grace(round);
  if (open.count() <= 0) return now;
  if (here && !round.told_here) {
    round.told_here = true;
    for (std::size_t i = 0; i < round.machines.size(); ++i) {
      const int machine = round.machines[i];
      if (machine == means_.place.machine) {
        round.here[i] = true;
        continue;
      }
      means_.send(machine, fabric::Packer()
                               .put(Kind::here)
                               .put(key.first)
                               .put(key.second)
                               .put(means_.roster.number(round.members.front()))
                               .bytes());
    }
  }
  if (std::find(round.here.begin(), round.here.end(), false) == round.here.end()) return now;
  return round.wanted_at == kNever ? kNever : round.wanted_at + open.count();
}

void GroupTask::begin(const Key& key, Round& round) {
  if (std::any_of(round.members.begin(), round.members.end(),
                  [&](int rank) { return board_.counts(rank); })) {
    round.buffer = board_.reserve_result(where(key, round));
    if (round.buffer < 0) return;  // Soon there is one.
  } else {
    round.unread.resize(bytes_);
  }
  const board::MachineGroupBoard::Share share = board_.choose_all(where(key, round));
  Head head{.staleness = share.staleness, .contributors = share.contributors};
  round.stage.resize(bytes_);
  board::weighted_sum(shape_.type, shape_.elements, share.terms,
                      1 / reserve_of(shape_.type, round.most), round.stage.data());
  fabric::Packer packer;
  packer.put(Kind::head)
      .put(key.first)
      .put(key.second)
      .put(means_.roster.number(round.members.front()))
      .put(board_.least_seen())
      .put(head.staleness)
      .put(static_cast<std::uint32_t>(head.contributors.size()));
  for (const int number : head.contributors) packer.put(number);
  for (const int machine : round.machines) {
    if (machine != means_.place.machine) means_.send(machine, packer.bytes());
  }
  round.heads[means_.place.machine] = std::move(head);
  round.begun = true;
}

std::byte* GroupTask::result_of(Round& round) const {
  return round.buffer >= 0 ? static_cast<std::byte*>(board_.values(round.buffer))
                           : round.unread.data();
}

void GroupTask::sum_up(const Key& key, Round& round) {
  std::size_t contributors = 0;
  for (const auto& [machine, head] : round.heads) contributors += head.contributors.size();
  const double scale = reserve_of(shape_.type, round.most) /
                       static_cast<double>(std::max<std::size_t>(contributors, 1));
  round.sum.emplace(*means_.channel, round.machines, means_.place.machine);
  round.sum->begin({.mine = round.stage.data(),
                    .result = result_of(round),
                    .elements = shape_.elements,
                    .type = shape_.type,
                    .scale = scale},
                   tag(key));
}

bool GroupTask::advance(const Key& key, Round& round) {
  if (!round.sum) {
    if (round.heads.size() < round.machines.size()) return false;
    sum_up(key, round);
  }
  if (!round.sum->done(moves_)) return false;
  std::vector<int> contributors;
  std::uint64_t staleness = 0;
  for (const auto& [machine, head] : round.heads) {
    contributors.insert(contributors.end(), head.contributors.begin(), head.contributors.end());
    staleness = std::max(staleness, head.staleness);
  }
  if (round.buffer >= 0) {
    board_.publish_mean(where(key, round), round.buffer, contributors, staleness);
  }
  return true;
}

Time GroupTask::work(Time now) {
  learn_seen(means_.place.machine, board_.least_seen());
  answer_askers();
  look_at_ranks(now);
  look_at_window();
  Time again_at = kNever;
  for (auto at = rounds_.begin(); at != rounds_.end();) {
    auto& [key, round] = *at;
    if (!round.begun) {
      const Time start = start_at(key, round, now);
      if (start <= now) begin(key, round);
      if (!round.begun) {
        again_at = std::min(again_at, std::max(start, now + kShortly));
        ++at;
        continue;
      }
    }
    at = advance(key, round) ? rounds_.erase(at) : std::next(at);
  }
  const auto under_way = std::count_if(rounds_.begin(), rounds_.end(), [](const auto& entry) {
    return entry.second.begun || !entry.second.heads.empty();
  });
  again_at = std::min(again_at, together_.work(now, int(under_way)));
  for (const auto& [machine, seen] : together_.take_news()) learn_seen(machine, seen);
  moving_ = together_.moving() ||
            std::any_of(rounds_.begin(), rounds_.end(),
                        [](const auto& entry) { return entry.second.sum.has_value(); });
  const Time look_at = look_for_missing(now);
  return together_.under_way() || moving_ ? now : std::min(again_at, look_at);
}

void GroupTask::hear(int from, std::span<const std::byte> message) {
  fabric::Unpacker unpacker(message);
  const auto kind = unpacker.take<Kind>();
  const auto step = unpacker.take<std::uint64_t>();
  if (kind == Kind::seen) return learn_seen(from, step);
  if (kind == Kind::ask) {
    askers_[from] = std::max(askers_[from], step);
    return;
  }
  if (kind == Kind::who) return answer_who(from, step, unpacker.take<std::uint64_t>());
  if (kind == Kind::missing) {
    while (step == waiting_for_.first && !unpacker.rest().empty()) {
      missing_.insert(unpacker.take<int>());
    }
    return;
  }
  const Key key(step, unpacker.take<int>());
  Round& round = round_of(key, unpacker.take<int>());
  if (kind == Kind::here) {
    const auto found = std::find(round.machines.begin(), round.machines.end(), from);
    round.here[found - round.machines.begin()] = true;
    return;
  }
  learn_seen(from, unpacker.take<std::uint64_t>());
  Head head{.staleness = unpacker.take<std::uint64_t>()};
  for (auto left = unpacker.take<std::uint32_t>(); left > 0; --left) {
    head.contributors.push_back(unpacker.take<int>());
  }
  round.heads[from] = std::move(head);
}

// The window.

void GroupTask::learn_seen(int machine, std::uint64_t seen) {
  seen_[machine] = std::max(seen_[machine], seen);
  std::uint64_t least = std::numeric_limits<std::int64_t>::max();
  for (int other = 0; other < means_.place.machines(); ++other) {
    if (other != means_.place.machine) least = std::min(least, seen_[other]);
  }
  board_.note_elsewhere(least);
}

void GroupTask::look_at_window() {
  for (const int rank : everybody_) {
    const std::uint64_t step = board_.published_step(rank);
    if (!board_.counts(rank) || board_.seen(rank) >= step || board_.window_allows(step)) continue;
    const std::uint64_t wanted = step - static_cast<std::uint64_t>(shape_.window);
    for (int machine = 0; machine < means_.place.machines(); ++machine) {
      if (machine == means_.place.machine || seen_[machine] >= wanted) continue;
      if (asked_[machine] >= wanted) continue;
      asked_[machine] = wanted;
      means_.send(machine, fabric::Packer().put(Kind::ask).put(wanted).bytes());
    }
  }
}

void GroupTask::answer_askers() {
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    if (askers_[machine] == 0) continue;
    if (board_.least_seen() < askers_[machine]) board_.set_blocked();
    const std::uint64_t seen = board_.least_seen();
    if (seen < askers_[machine]) continue;
    askers_[machine] = 0;
    means_.send(machine, fabric::Packer().put(Kind::seen).put(seen).bytes());
  }
}

// For messages.

Time GroupTask::look_for_missing(Time now) {
  // The first thing that somebody here waits for: publications, or that somebody catches up.
  std::pair<std::uint64_t, std::uint64_t> wanted(0, 0);
  if (!rounds_.empty()) wanted.first = rounds_.begin()->first.first;
  if (together_.under_way() && board_.anybody_counts()) wanted.first = together_.step();
  for (const int rank : everybody_) {
    const std::uint64_t step = board_.published_step(rank);
    if (!board_.counts(rank) || board_.seen(rank) >= step) continue;
    if (!board_.window_allows(step)) wanted.second = step - std::uint64_t(shape_.window);
    if (wanted.first == 0) wanted.first = step;
  }
  if (wanted != waiting_for_) {
    waiting_for_ = wanted;
    waiting_since_ = wanted.first > 0 ? now : kNever;
    missing_ = RankSet(means_.place.ranks());
    asked_who_ = false;
  }
  if (waiting_since_ == kNever || asked_who_) return kNever;
  if (now < waiting_since_ + kCurious) return waiting_since_ + kCurious;
  asked_who_ = true;
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    if (machine == means_.place.machine) {
      answer_who(machine, wanted.first, wanted.second);
    } else {
      means_.send(machine,
                  fabric::Packer().put(Kind::who).put(wanted.first).put(wanted.second).bytes());
    }
  }
  return kNever;
}

void GroupTask::answer_who(int machine, std::uint64_t published, std::uint64_t seen) {
  fabric::Packer answer;
  answer.put(Kind::missing).put(published);
  for (const int rank : everybody_) {
    if (!board_.counts(rank)) continue;
    const bool late = seen > 0 ? board_.seen(rank) < seen : board_.published_step(rank) < published;
    if (!late) continue;
    if (machine == means_.place.machine) missing_.insert(means_.roster.number(rank));
    answer.put(means_.roster.number(rank));
  }
  if (machine != means_.place.machine) means_.send(machine, answer.bytes());
}

}  // namespace syncopate::detail

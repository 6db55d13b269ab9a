#include "collective/group_task.h"

#include <algorithm>

#include "collective/region.h"
#include "collective/waiting.h"
#include "fabric/packet.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Time;
using round::GroupFacts;
using round::GroupMessage;
using round::GroupRound;

/// Each round uses two tags, and so does the average of all.
constexpr int kTags = (1 << 14) - 1;

std::vector<std::byte> pack(const GroupMessage& message) {
  fabric::Packer packer;
  packer.put(message.kind)
      .put(message.round.step)
      .put(message.round.group)
      .put(message.member)
      .put(message.step)
      .put(message.seen)
      .put(message.staleness);
  for (const int rank : message.ranks) packer.put(rank);
  return packer.bytes();
}

GroupMessage unpack(std::span<const std::byte> bytes) {
  fabric::Unpacker unpacker(bytes);
  GroupMessage message{
      .kind = unpacker.take<GroupMessage::Kind>(),
      .round = {.step = unpacker.take<std::uint64_t>(), .group = unpacker.take<int>()},
      .member = unpacker.take<int>(),
      .step = unpacker.take<std::uint64_t>(),
      .seen = unpacker.take<std::uint64_t>(),
      .staleness = unpacker.take<std::uint64_t>()};
  while (!unpacker.rest().empty()) message.ranks.push_back(unpacker.take<int>());
  return message;
}

}  // namespace

GroupTask::GroupTask(Agent::Means means, std::shared_ptr<Region> region,
                     const board::GroupShape& shape, const GroupOptions& options)
    : means_(std::move(means)),
      region_(std::move(region)),
      shape_(shape),
      board_(region_->data(), shape, means_.roster, means_.host),
      agreement_(options, means_.place.machine_of, means_.place.machine),
      bytes_(shape.elements * size_of(shape.type)),
      together_(means_, shape, board_, agreement_) {}

Time GroupTask::work(Time now) {
  Time again_at = observe(now);
  for (const GroupRound& round : agreement_.started()) {
    if (!begin(round)) again_at = std::min(again_at, now + kShortly);
  }
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    at = advance(at->first, at->second) ? under_way_.erase(at) : std::next(at);
  }
  again_at = std::min(again_at, together_.work(now));
  post();
  board_.note_elsewhere(agreement_.seen_elsewhere());
  moving_ = together_.moving() ||
            std::any_of(under_way_.begin(), under_way_.end(),
                        [](const auto& entry) { return entry.second.sum.has_value(); });
  return together_.under_way() || moving_ ? now : again_at;
}

void GroupTask::hear(int from, std::span<const std::byte> message) {
  agreement_.hear(from, unpack(message));
  post();
}

Time GroupTask::observe(Time now) {
  const Time again_at = agreement_.observe(facts(), now);
  if (!agreement_.held_up()) return again_at;
  board_.set_blocked();  // Whoever lags calls when it has caught up; it may have by now.
  return agreement_.observe(facts(), now);
}

std::vector<GroupFacts> GroupTask::facts() {
  std::vector<GroupFacts> result(shape_.ranks);
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    GroupFacts& facts = result[rank];
    facts = {.counts = board_.counts(rank),
             .published = board_.published_step(rank),
             .seen = board_.seen(rank),
             .step_time = board_.step_time(rank)};
    const std::uint64_t step = facts.published;
    facts.waits = facts.seen < step && board_.waits(rank, step) &&
                  board_.result({.step = step, .group = agreement_.group_at(rank, step)}) < 0;
  }
  return result;
}

void GroupTask::post() {
  for (const auto& [machine, message] : agreement_.take_messages()) {
    means_.send(machine, pack(message));
  }
}

int GroupTask::tag(const GroupRound& round) const {
  // Far fewer rounds than this are under way at once.
  const std::uint64_t number = round.step * static_cast<unsigned>(shape_.groups) + round.group;
  return kTogetherTag + 2 + 2 * static_cast<int>(number % kTags);
}

board::Gathering GroupTask::where(const GroupRound& round) const {
  return {.step = round.step, .group = round.group, .members = agreement_.party(round).members};
}

bool GroupTask::begin(const GroupRound& round) {
  const auto& party = agreement_.party(round);
  Work work;
  if (std::any_of(party.members.begin(), party.members.end(),
                  [&](int rank) { return board_.counts(rank); })) {
    work.buffer = board_.reserve_result(where(round));
    if (work.buffer < 0) return false;
  } else {
    work.unread.resize(bytes_);
  }
  board::MachineGroupBoard::Share share = board_.choose_all(where(round));
  board::weighted_sum(shape_.type, shape_.elements, share.terms,
                      1 / reserve_of(shape_.type, party.most), values(work));
  agreement_.bring(round, {share.staleness, std::move(share.contributors)});
  under_way_.emplace(round, std::move(work));
  return true;
}

void GroupTask::sum_up(const GroupRound& round, Work& work) {
  const auto& party = agreement_.party(round);
  std::size_t contributors = 0;
  for (const auto& [machine, share] : party.shares) contributors += share.contributors.size();
  const double scale = reserve_of(shape_.type, party.most) /
                       static_cast<double>(std::max<std::size_t>(contributors, 1));
  work.sum.emplace(*means_.channel, party.machines, means_.place.machine);
  work.sum->begin({.mine = values(work),
                   .result = values(work),
                   .elements = shape_.elements,
                   .type = shape_.type,
                   .scale = scale},
                  tag(round));
}

bool GroupTask::advance(const GroupRound& round, Work& work) {
  const auto& party = agreement_.party(round);
  if (!work.sum) {
    if (!party.complete()) return false;
    sum_up(round, work);
  }
  if (!work.sum->done(moves_)) return false;
  std::vector<int> contributors;
  std::uint64_t staleness = 0;
  for (const auto& [machine, share] : party.shares) {
    contributors.insert(contributors.end(), share.contributors.begin(), share.contributors.end());
    staleness = std::max(staleness, share.staleness);
  }
  if (work.buffer >= 0) board_.publish_mean(where(round), work.buffer, contributors, staleness);
  agreement_.complete(round);
  return true;
}

}  // namespace syncopate::detail

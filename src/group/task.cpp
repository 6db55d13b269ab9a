#include "group/task.h"

#include <algorithm>

#include "board/region.h"
#include "board/wait.h"
#include "group/messages.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Time;
using round::GroupFacts;
using round::GroupRound;

/// Each round uses two tags, and so does the average of all.
constexpr int kTags = (1 << 14) - 1;

}  // namespace

GroupTask::GroupTask(TaskContext context, std::shared_ptr<Region> region,
                     const board::GroupShape& shape, const GroupOptions& options)
    : context_(std::move(context)),
      region_(std::move(region)),
      shape_(shape),
      board_(region_->data(), shape, context_.roster, context_.platform),
      agreement_(options, context_.topology.machine_of, context_.topology.machine),
      bytes_(shape.elements * size_of(shape.type)),
      global_(context_, shape, board_, agreement_) {}

Time GroupTask::work(Time now) {
  Time again_at = observe(now);
  for (const GroupRound& round : agreement_.started()) {
    if (!begin(round)) again_at = std::min(again_at, now + board::kShortly);
  }
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    at = advance(at->first, at->second) ? under_way_.erase(at) : std::next(at);
  }
  again_at = std::min(again_at, global_.work(now));
  post();
  board_.note_elsewhere(agreement_.seen_elsewhere());
  moving_ = global_.moving() ||
            std::any_of(under_way_.begin(), under_way_.end(),
                        [](const auto& entry) { return entry.second.sum.has_value(); });
  return global_.under_way() || moving_ ? now : again_at;
}

void GroupTask::hear(int from, std::span<const std::byte> message) {
  agreement_.hear(from, unpack_group_message(message, from));
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
    context_.send(machine, pack(message));
  }
}

int GroupTask::tag(const GroupRound& round) const {
  // Far fewer rounds than this are under way at once.
  const std::uint64_t number = round.step * static_cast<unsigned>(shape_.groups) + round.group;
  return kTogetherTag + 2 + 2 * static_cast<int>(number % kTags);
}

board::LocalGroup GroupTask::where(const GroupRound& round) const {
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
  work.sum.emplace(*context_.channel, party.machines, context_.topology.machine);
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

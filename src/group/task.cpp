#include "group/task.h"

#include <algorithm>

#include "board/region.h"
#include "board/wait.h"
#include "group/messages.h"

namespace syncopate::group {
namespace {

using round::GroupFacts;
using round::GroupRound;

/// Each round uses two tags, and so does the average of all.
constexpr int kTags = (1 << 14) - 1;

}  // namespace

Task::Task(agent::TaskContext context, std::shared_ptr<board::Region> region, const Shape& shape,
           const GroupOptions& options)
    : context_(std::move(context)),
      region_(std::move(region)),
      rounds_(region_->data(), shape, context_.roster, context_.platform),
      agreement_(options, context_.topology.machine_of, context_.topology.machine),
      global_(context_, rounds_, agreement_) {}

Time Task::work(Time now) {
  Time again_at = observe(now);
  for (const GroupRound& round : agreement_.started()) {
    if (!begin(round)) again_at = std::min(again_at, now + board::kShortly);
  }
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    advance(at->first, at->second);
    at = at->second.state == Work::State::over ? under_way_.erase(at) : std::next(at);
  }
  again_at = std::min(again_at, global_.work(now));
  post();
  rounds_.board().window.note_elsewhere(agreement_.progress().elsewhere());
  moving_ =
      global_.moving() || std::any_of(under_way_.begin(), under_way_.end(), [](const auto& entry) {
        return entry.second.state == Work::State::summing;
      });
  return global_.under_way() || moving_ ? now : again_at;
}

void Task::hear(int from, std::span<const std::byte> message) {
  agreement_.hear(from, unpack_group_message(message, from));
  post();
}

Time Task::observe(Time now) {
  const Time again_at = agreement_.observe(facts(), now);
  if (!agreement_.progress().held_up()) return again_at;
  // A rank that lags calls when it has caught up; it may have by now.
  rounds_.board().window.set_blocked();
  return agreement_.observe(facts(), now);
}

std::vector<GroupFacts> Task::facts() {
  const Board& board = rounds_.board();
  std::vector<GroupFacts> result(board.shape.ranks);
  for (int rank = 0; rank < board.shape.ranks; ++rank) {
    GroupFacts& facts = result[rank];
    facts = {.counts = board.participants.counts(rank),
             .published = board.publications.newest(rank).step,
             .seen = board.participants.seen(rank),
             .step_time = board.participants.step_time(rank)};
    const std::uint64_t step = facts.published;
    facts.waits = facts.seen < step && board.participants.waits(rank, step) &&
                  board.results.buffer_of(
                      {.step = step, .group = agreement_.group_at(rank, step)}) == kNoBuffer;
  }
  return result;
}

void Task::post() {
  for (const auto& [machine, message] : agreement_.take_messages()) {
    context_.send(machine, pack(message));
  }
}

int Task::tag(const GroupRound& round) const {
  // Far fewer rounds than this are under way at once.
  const std::uint64_t number =
      round.step * static_cast<unsigned>(rounds_.board().shape.groups) + round.group;
  return kGlobalTag + 2 + 2 * static_cast<int>(number % kTags);
}

LocalGroup Task::where(const GroupRound& round) const {
  return {.step = round.step, .group = round.group, .members = agreement_.party(round).members};
}

MeanOfMachines Task::mean(const GroupRound& round) const {
  return {rounds_.board().shape.type, agreement_.party(round).most};
}

bool Task::begin(const GroupRound& round) {
  const std::vector<int>& members = agreement_.party(round).members;
  const Board& board = rounds_.board();
  Work work;
  if (std::any_of(members.begin(), members.end(),
                  [&](int rank) { return board.participants.counts(rank); })) {
    if (!rounds_.reserve(where(round), work.place)) return false;
  } else {
    rounds_.set_aside(work.place);
  }
  MachineRounds::Share share = rounds_.choose(where(round));
  board::weighted_sum(board.shape.type, board.shape.elements, share.terms, mean(round).of_machine(),
                      rounds_.values(work.place));
  agreement_.bring(round, {share.staleness, std::move(share.contributors)});
  under_way_.emplace(round, std::move(work));
  return true;
}

void Task::advance(const GroupRound& round, Work& work) {
  if (work.state == Work::State::sharing && agreement_.party(round).complete()) {
    sum_up(round, work);
  }
  if (work.state == Work::State::summing && work.sum->done(moves_)) conclude(round, work);
}

void Task::sum_up(const GroupRound& round, Work& work) {
  const auto& party = agreement_.party(round);
  std::size_t contributors = 0;
  for (const auto& [machine, share] : party.shares) contributors += share.contributors.size();
  void* const values = rounds_.values(work.place);
  work.sum.emplace(*context_.channel, party.machines, context_.topology.machine);
  work.sum->begin({.mine = values,
                   .result = values,
                   .elements = rounds_.board().shape.elements,
                   .type = rounds_.board().shape.type,
                   .scale = mean(round).of_all(static_cast<int>(contributors))},
                  tag(round));
  work.state = Work::State::summing;
}

void Task::conclude(const GroupRound& round, Work& work) {
  MachineRounds::Said said;
  for (const auto& [machine, share] : agreement_.party(round).shares) {
    said.add(share.contributors, share.staleness);
  }
  rounds_.publish(where(round), work.place, said);
  agreement_.complete(round);
  work.state = Work::State::over;
}

}  // namespace syncopate::group

#include "partial/task.h"

#include <vector>

#include "board/region.h"
#include "kernel/kernel.h"
#include "partial/messages.h"
#include "partial/scaling.h"
#include "round/start.h"
#include "round/step_times.h"

namespace syncopate::detail {
namespace {

using board::Time;
using round::Facts;

/// A sum that is so short goes with the report, to all machines, and each adds all of them up: that
/// is one way to go instead of two.
constexpr std::size_t kLongestWithLine = 4 << 10;
constexpr std::size_t kMostGathered = 64 << 10;
/// Reports move only while the agent looks, and a turn of the agent looks at much else.
constexpr int kReportLooks = 32;

std::size_t bytes_with_report(std::size_t bytes, std::size_t machines, fabric::Combine combine) {
  if (combine != fabric::Combine::sum) return 0;
  return bytes <= kLongestWithLine && bytes * machines <= kMostGathered ? bytes : 0;
}

}  // namespace

PartialTask::PartialTask(agent::TaskContext context, std::shared_ptr<board::Region> region,
                         const partial::Shape& shape, const PartialOptions& options,
                         fabric::Combine combine)
    : context_(std::move(context)),
      region_(std::move(region)),
      shape_(shape),
      grace_(options.grace),
      rounds_(region_->data(), shape, context_.roster, context_.platform),
      reports_(context_.topology.machine_of,
               bytes_with_report(shape.vector_bytes(), context_.topology.machines(), combine)),
      agreement_(options.trigger, options.window, reports_.machines(), context_.topology.machine,
                 rounds_.board().results.published()),
      sum_(rounds_, context_, combine) {}

void PartialTask::note_least_seen(Facts& facts) const {
  const partial::Participants& participants = rounds_.board().participants;
  facts.seen = Facts::kNobodyLags;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (!participants.follows(rank)) continue;
    if (const std::uint64_t seen = participants.seen(rank); seen < facts.seen) {
      facts.seen = seen;
      facts.slowest = rank;
    }
  }
}

Facts PartialTask::facts() {
  const int ranks = shape_.ranks;
  const partial::Participants& participants = rounds_.board().participants;
  Facts result{.here = RankSet(ranks), .counting = RankSet(ranks)};
  for (int rank = 0; rank < ranks; ++rank) {
    if (participants.has_deposit(rank)) result.here.insert(rank);
    if (participants.counts(rank)) result.counting.insert(rank);
  }
  result.waits = participants.anyone_waits(agreement_.next());
  note_least_seen(result);
  if (result.seen + 1 < agreement_.next()) {
    // A rank that is behind then calls when it has caught up: others may be waiting for it.
    rounds_.board().window.set_blocked();
    note_least_seen(result);
  }
  return result;
}

Duration PartialTask::grace() const {
  return round::grace_time(grace_, [&] { return typical_step_; });
}

void PartialTask::post() {
  for (const auto& [to, message] : agreement_.take_messages()) {
    context_.send(to, pack(message, reports_.machines(), context_.topology.machine));
  }
}

void PartialTask::hear(int from, std::span<const std::byte> bytes) {
  agreement_.hear(from, unpack_message(bytes, from, reports_.machines()), context_.platform.now());
  post();
}

Time PartialTask::work(Time now) {
  if (state_ == State::agreeing) own_ = facts();
  const Time again_at = agreement_.observe(own_, grace(), now);  // Others may have to be told.
  post();
  if (state_ == State::agreeing) {
    if (!agreement_.started()) return again_at;
    take_part();
  }
  if (state_ == State::gathering && gathered(now)) begin_summing();
  const bool opened = state_ == State::summing || !scaling().in_two_steps();
  if (!sums_with_reports() && opened) sum_.advance(now, scale());
  if (state_ == State::summing && (sums_with_reports() || sum_.complete())) {
    state_ = State::publishing;
  }
  if (state_ == State::publishing) publish(now);
  return now;
}

void PartialTask::take_part() {
  own_ = facts();
  partial::MachineRounds::Share share;
  rounds_.take(agreement_.next(), share);
  const partial::Participants& participants = rounds_.board().participants;
  std::vector<Duration> times;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const Duration time = participants.step_time(rank);
    if (participants.counts(rank) && time.count() > 0) times.push_back(time);
  }
  reports_.pack(
      // Machines take part in a round at different times: only a clock they share tells who came
      // last.
      {.newest_at = context_.clock.common(share.newest_at),
       .step_time = round::median(times).count(),
       .newest = share.header.newest < 0 ? -1 : context_.roster.rank_of(share.header.newest),
       .held_up_by = agreement_.held_up_by()},
      share, own_);
  if (sums_with_reports()) {
    rounds_.sum_up(agreement_.next(), scaling().first_step(share.header.weight),
                   reports_.own_values());
  }
  gathering_ = reports_.gather(*context_.channel);
  // The agent there waits for the report of this one.
  if (const int root = agreement_.started_by(); root >= 0 && root != context_.topology.machine) {
    context_.rouse(root);
  }
  state_ = State::gathering;
  if (!sums_with_reports() && !scaling().in_two_steps()) sum_.open(agreement_.next(), 1);
}

bool PartialTask::gathered(Time now) {
  // Where others need the core this one has it for a moment only, and is called again.
  const int looks = context_.platform.crowded(now) ? 1 : kReportLooks;
  for (int look = 0; look < looks; ++look) {
    if (!gathering_->done()) continue;
    gathering_.reset();
    reports_.check(agreement_.next());
    return true;
  }
  return false;
}

void PartialTask::begin_summing() {
  state_ = State::summing;
  if (sums_with_reports()) return add_up_gathered();
  if (scaling().in_two_steps()) {
    sum_.open(agreement_.next(), scaling().first_step(reports_.totals().heaviest));
  }
}

std::optional<double> PartialTask::scale() const {
  const bool needs_reports = scaling().by_contributions() || scaling().in_two_steps();
  if (!needs_reports) return 1 / scaling().divisor(0, 0);
  if (state_ == State::gathering) return std::nullopt;
  const RoundReports::Totals all = reports_.totals();
  return scaling().first_step(all.heaviest) / scaling().divisor(all.contributors, all.weight);
}

void PartialTask::add_up_gathered() {
  std::vector<board::Term> terms(context_.topology.machines());
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    terms[machine] = {.values = reports_.values(machine),
                      .weight = scaling().first_step(reports_.report(machine).weight)};
  }
  const RoundReports::Totals all = reports_.totals();
  board::weighted_sum(shape_.type, shape_.elements, terms,
                      1 / scaling().divisor(all.contributors, all.weight), rounds_.result());
}

void PartialTask::publish(Time now) {
  const RoundReports::Merged merged = reports_.merge(agreement_.next());
  typical_step_ = merged.typical_step;
  over_ = merged.said.header.last;
  if (!sums_with_reports()) sum_.place();
  rounds_.publish(agreement_.next(), merged.said);
  agreement_.complete(merged.facts, now);
  post();
  state_ = State::agreeing;
}

}  // namespace syncopate::detail

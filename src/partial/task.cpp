#include "partial/task.h"

#include <algorithm>
#include <cmath>

#include "board/layout.h"
#include "board/region.h"
#include "partial/divisor.h"
#include "partial/messages.h"
#include "round/machines.h"
#include "round/step_times.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Reduction;
using board::Time;
using round::Facts;

/// A sum that is so short goes with the report, to all machines, and each adds all of them up: that
/// is one way to go instead of two.
constexpr std::size_t kLongestWithLine = 4 << 10;
constexpr std::size_t kMostGathered = 64 << 10;
/// Data move only while somebody looks, and a turn of the agent looks at much else.
constexpr int kLooks = 32;

std::size_t bytes_with_report(std::size_t bytes, std::size_t machines, fabric::Combine combine) {
  if (combine != fabric::Combine::sum) return 0;
  return bytes <= kLongestWithLine && bytes * machines <= kMostGathered ? bytes : 0;
}

}  // namespace

PartialTask::PartialTask(TaskContext context, std::shared_ptr<Region> region,
                         const partial::Shape& shape, const PartialOptions& options,
                         fabric::Combine combine)
    : context_(std::move(context)),
      region_(std::move(region)),
      shape_(shape),
      options_(options),
      rounds_(region_->data(), shape, context_.roster, context_.platform),
      ranks_of_(round::ranks_by_machine(context_.topology.machine_of)),
      values_bytes_(
          bytes_with_report(shape.elements * size_of(shape.type), ranks_of_.size(), combine)),
      agreement_(options.trigger, options.window, context_.topology.machine_of,
                 context_.topology.machine, rounds_.board().results.published()),
      reports_(context_.topology, values_bytes_),
      piece_(length_of_pieces()),
      sum_(*context_.channel, context_.topology, shape.elements * size_of(shape.type), combine),
      stall_(context_.roster, context_.platform) {}

std::size_t PartialTask::length_of_pieces() const {
  const std::size_t longest = SumByParts::piece_bytes(ranks_of_.size()) / size_of(shape_.type);
  // As many as there have to be, of one length, each beginning where something may on a board.
  const std::size_t count = std::max<std::size_t>((shape_.elements + longest - 1) / longest, 1);
  const std::size_t unit = board::Layout::kUnit / size_of(shape_.type);
  return ((shape_.elements + count - 1) / count + unit - 1) / unit * unit;
}

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
    rounds_.board().results.set_blocked();
    note_least_seen(result);
  }
  return result;
}

Duration PartialTask::grace() const {
  if (options_.grace.share <= 0) return options_.grace.fixed;
  return Duration(std::llround(double(typical_step_.count()) * options_.grace.share));
}

void PartialTask::post() {
  for (const auto& [to, message] : agreement_.take_messages()) {
    context_.send(to, pack(message, shape_.ranks));
  }
}

void PartialTask::hear(int from, std::span<const std::byte> bytes) {
  const int ranks = static_cast<int>(ranks_of_[from].size());
  agreement_.hear(from, unpack_message(bytes, from, ranks), context_.platform.now());
  post();
}

Time PartialTask::work(Time now) {
  if (phase_ == Phase::agreeing) own_ = facts();
  const Time again_at = agreement_.observe(own_, grace(), now);  // Others may have to be told.
  post();
  if (phase_ == Phase::agreeing) {
    if (!agreement_.started()) return again_at;
    begin();
  }
  // Where others need the core this one has it for a moment only, and is called again.
  const int looks = context_.platform.crowded(now) ? 1 : kLooks;
  for (int look = 0; look < looks && gathering_ != nullptr; ++look) {
    if (!gathering_->done()) continue;
    gathering_.reset();
    reports_.check(agreement_.next());
  }
  if (values_bytes_ > 0) {
    if (gathering_ != nullptr) return now;
    add_up_gathered();
    conclude(now);
    return now;
  }
  if (!opened_ && !divisor_unknown()) open(reserve());
  if (opened_) advance_pieces(now);
  if (gathering_ == nullptr && all_begun() && !under_way_) conclude(now);
  return now;
}

bool PartialTask::divisor_unknown() const {
  return gathering_ != nullptr && (divisor_by_reports() || divides_first());
}

void PartialTask::begin() {
  partial::MachineRounds::Share share;
  const partial::Participants& participants = rounds_.board().participants;
  own_ = facts();
  rounds_.take(agreement_.next(), share);
  RoundReports::MachineReport own{
      .weight = share.header.weight,
      .staleness = share.header.staleness,
      .seen = own_.seen,
      // Machines take part in a round at different times: only a clock they share tells who came
      // last.
      .newest_at = context_.clock.common(share.newest_at),
      .dropped = share.header.dropped,
      .parting_drops = share.parting_drops,
      .newest = share.header.newest < 0 ? -1 : context_.roster.rank_of(share.header.newest),
      .slowest = own_.slowest,
      .held_up_by = agreement_.held_up_by()};
  std::vector<Duration> times;
  reports_.clear();
  const auto has = [](const std::vector<std::uint64_t>& bits, int rank) {
    return (bits[rank / 64] >> (rank % 64) & 1) != 0;
  };
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (has(share.contributors, rank)) {
      ++own.contributors;
      reports_.insert(RoundReports::contributors, rank);
    }
    if (has(share.reporters, rank)) reports_.insert(RoundReports::reporters, rank);
    if (has(share.parting_reporters, rank)) reports_.insert(RoundReports::parting_reporters, rank);
    if (own_.counting.contains(rank)) reports_.insert(RoundReports::counting, rank);
    if (const Duration time = participants.step_time(rank);
        participants.counts(rank) && time.count() > 0) {
      times.push_back(time);
    }
  }
  own.step_time = round::median(times).count();
  reports_.write(own);
  if (values_bytes_ > 0) {
    rounds_.sum_up(agreement_.next(), reserve_for(own.weight), reports_.own_values());
  }
  gathering_ = reports_.gather(*context_.channel);
  // Somebody waits there for the report of this one.
  if (const int root = agreement_.started_by(); root >= 0 && root != context_.topology.machine) {
    context_.rouse(root);
  }
  phase_ = Phase::exchanging;
  if (values_bytes_ > 0) return;
  begun_ = 0;
  opened_ = false;
  if (!divides_first()) open(1);
}

double PartialTask::divisor() const {
  double weight = 0;
  int contributing = 0;
  for (int machine = 0; divisor_by_reports() && machine < context_.topology.machines(); ++machine) {
    const RoundReports::MachineReport one = reports_.report(machine);
    weight += one.weight;
    contributing += one.contributors;
  }
  return partial::divisor(shape_.scale, shape_.world_ranks, contributing, weight);
}

double PartialTask::reserve() const {
  if (!divides_first()) return 1;
  double most = 0;
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    most = std::max(most, reports_.report(machine).weight);
  }
  return reserve_for(most);
}

double PartialTask::reserve_for(double weight) const {
  return divides_first() && weight > 0 ? std::exp2(std::ceil(std::log2(weight))) : 1;
}

void PartialTask::add_up_gathered() {
  std::vector<board::Term> terms(context_.topology.machines());
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    terms[machine] = {.values = reports_.values(machine),
                      .weight = reserve_for(reports_.report(machine).weight)};
  }
  board::weighted_sum(shape_.type, shape_.elements, terms, 1 / divisor(), rounds_.result());
}

void PartialTask::open(double divisor) {
  opened_ = true;
  direct_ = {};
  if (divisor == 1) direct_ = rounds_.only_share(agreement_.next());
  if (direct_.values != nullptr) return;
  rounds_.open(agreement_.next(), divisor);
  const int chunks = rounds_.board().results.buffers().chunking().count;
  if (const int helpers = board::helpers_to_wake(context_.roster, chunks); helpers > 0) {
    rounds_.board().signal_helpers(helpers);
  }
}

void PartialTask::advance_pieces(Time now) {
  for (int look = 0; look < kLooks && under_way_; ++look) under_way_ = !sum_.done(moves_);
  const std::size_t chunk = rounds_.board().results.buffers().chunking().chunk;
  const std::size_t size = size_of(shape_.type);
  if (!all_begun() && !under_way_) {
    const std::size_t end = std::min(begun_ + piece_, shape_.elements);
    void* sum = direct_.values;
    if (sum == nullptr) {
      const board::AttemptWord attempt = rounds_.board().running.attempt();
      const Reduction::Outcome outcome = rounds_.board().running.help(
          attempt, static_cast<int>(begun_ / chunk), static_cast<int>((end + chunk - 1) / chunk));
      if (outcome == Reduction::Outcome::over) return;  // Another attempt has begun: look again.
      if (outcome == Reduction::Outcome::pending) return overcome_stall(attempt, now);
      sum = rounds_.staged(attempt);
    }
    if (divisor_unknown()) return;
    void* const result = in_place() ? sum : rounds_.result();
    sum_.begin({.mine = static_cast<std::byte*>(sum) + begun_ * size,
                .result = static_cast<std::byte*>(result) + begun_ * size,
                .elements = end - begun_,
                .type = shape_.type,
                .scale = reserve() / divisor()},
               0);
    under_way_ = true;
    begun_ = end;
  }
}

void PartialTask::overcome_stall(board::AttemptWord attempt, Time now) {
  stall_.overcome(attempt, now, rounds_.board().event(),
                  [&] { rounds_.board().running.retry(attempt); });
}

void PartialTask::conclude(Time now) {
  const int machines = context_.topology.machines();
  const std::size_t words = (shape_.world_ranks + 63) / 64;
  partial::MachineRounds::Said said{.header = {.round = agreement_.next()},
                                    .contributors = std::vector<std::uint64_t>(words),
                                    .reporters = std::vector<std::uint64_t>(words)};
  std::vector<Facts> facts_of(machines);
  std::vector<Duration> times;
  std::int64_t newest_at = std::numeric_limits<std::int64_t>::min();
  int held_up_by = -1;
  int counting_ranks = 0;
  for (int machine = 0; machine < machines; ++machine) {
    const RoundReports::MachineReport one = reports_.report(machine);
    said.header.weight += one.weight;
    said.header.staleness = std::max(said.header.staleness, one.staleness);
    said.header.dropped += one.dropped;
    if (one.newest >= 0 && one.newest_at > newest_at) {
      newest_at = one.newest_at;
      said.header.newest = static_cast<std::int16_t>(one.newest);
    }
    if (one.step_time > 0) times.emplace_back(one.step_time);
    const int ranks = static_cast<int>(ranks_of_[machine].size());
    facts_of[machine] = {.here = RankSet(ranks),
                         .counting = RankSet(ranks),
                         .seen = one.seen,
                         .slowest = one.slowest};
    held_up_by = std::max(held_up_by, one.held_up_by);
    for (int rank = 0; rank < ranks; ++rank) {
      const int number = ranks_of_[machine][rank];
      const std::uint64_t bit = std::uint64_t{1} << (number % 64);
      if (reports_.contains(machine, RoundReports::contributors, rank))
        said.contributors[number / 64] |= bit;
      if (reports_.contains(machine, RoundReports::reporters, rank))
        said.reporters[number / 64] |= bit;
      if (!reports_.contains(machine, RoundReports::counting, rank)) continue;
      facts_of[machine].counting.insert(rank);
      ++counting_ranks;
    }
  }
  if (counting_ranks == 0) {
    said.header.last = true;
    for (int machine = 0; machine < machines; ++machine) {
      said.header.dropped += reports_.report(machine).parting_drops;
      for (int rank = 0; rank < static_cast<int>(ranks_of_[machine].size()); ++rank) {
        const int number = ranks_of_[machine][rank];
        if (!reports_.contains(machine, RoundReports::parting_reporters, rank)) continue;
        said.reporters[number / 64] |= std::uint64_t{1} << (number % 64);
      }
    }
    over_ = true;
  }
  // Who was waited for: the last to come, unless the window waited for another.
  if (held_up_by >= 0) said.header.newest = static_cast<std::int16_t>(held_up_by);
  typical_step_ = round::median(times);
  if (in_place()) rounds_.adopt(direct_);
  rounds_.publish(agreement_.next(), said);
  agreement_.complete(facts_of, now);
  post();
  phase_ = Phase::agreeing;
}

}  // namespace syncopate::detail

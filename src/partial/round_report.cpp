#include "partial/round_report.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/bad_message.h"
#include "base/bits.h"
#include "base/options.h"
#include "round/agreement.h"
#include "round/machines.h"
#include "round/step_times.h"

namespace syncopate::detail {

RoundReports::RoundReports(round::Machines machines, std::size_t values_bytes)
    : machines_(std::move(machines)) {
  set_words_ = bits::words_for(machines_.largest());
  report_bytes_ = sizeof(MachineReport) + sets * set_words_ * sizeof(std::uint64_t);
  mine_.resize(report_bytes_ + values_bytes);
  reports_.resize(mine_.size() * machines_.count());
}

void RoundReports::pack(MachineReport report, const partial::MachineRounds::Share& share,
                        const round::Facts& facts) {
  report.weight = share.header.weight;
  report.staleness = share.header.staleness;
  report.dropped = share.header.dropped;
  report.parting_drops = share.parting_drops;
  report.seen = facts.seen;
  report.slowest = facts.slowest;
  for (const std::uint64_t word : share.contributors) report.contributors += std::popcount(word);
  std::fill(mine_.begin(), mine_.end(), std::byte{0});
  std::memcpy(mine_.data(), &report, sizeof report);
  auto* const words = reinterpret_cast<std::uint64_t*>(mine_.data() + sizeof report);
  const auto own = [&](Set which) { return words + which * set_words_; };
  std::copy(share.contributors.begin(), share.contributors.end(), own(contributors));
  std::copy(share.reporters.begin(), share.reporters.end(), own(reporters));
  std::copy(share.parting_reporters.begin(), share.parting_reporters.end(), own(parting_reporters));
  for (const int rank : facts.counting.list()) bits::insert({own(counting), set_words_}, rank);
}

RoundReports::MachineReport RoundReports::report(int machine) const {
  MachineReport result;
  std::memcpy(&result, reports_.data() + machine * mine_.size(), sizeof result);
  return result;
}

std::uint64_t RoundReports::word(int machine, Set which, std::size_t index) const {
  std::uint64_t result = 0;  // Copied, as values of any length lie between the reports.
  const std::byte* sets_of = reports_.data() + machine * mine_.size() + sizeof(MachineReport);
  std::memcpy(&result, sets_of + (which * set_words_ + index) * sizeof result, sizeof result);
  return result;
}

bool RoundReports::contains(int machine, Set which, int rank) const {
  return (word(machine, which, bits::word_of(rank)) & bits::bit_of(rank)) != 0;
}

void RoundReports::add_to(std::span<std::uint64_t> ranks, Set which) const {
  for (int machine = 0; machine < machines_.count(); ++machine) {
    for (int rank = 0; rank < machines_.size(machine); ++rank) {
      if (contains(machine, which, rank)) bits::insert(ranks, machines_.on(machine)[rank]);
    }
  }
}

RoundReports::Totals RoundReports::totals() const {
  Totals all;
  for (int machine = 0; machine < machines_.count(); ++machine) {
    const MachineReport one = report(machine);
    all.weight += one.weight;
    all.contributors += one.contributors;
    all.heaviest = std::max(all.heaviest, one.weight);
  }
  return all;
}

RoundReports::Merged RoundReports::merge(std::uint64_t round) const {
  const std::size_t words = bits::words_for(machines_.ranks());
  Merged all{.said = {.header = {.round = round},
                      .contributors = std::vector<std::uint64_t>(words),
                      .reporters = std::vector<std::uint64_t>(words)},
             .facts = {}};
  board::ResultHeader& header = all.said.header;
  std::vector<Duration> times;
  std::int64_t newest_at = std::numeric_limits<std::int64_t>::min();
  int held_up_by = -1;
  std::uint32_t parting_drops = 0;
  header.last = true;
  for (int machine = 0; machine < machines_.count(); ++machine) {
    const MachineReport one = report(machine);
    header.weight += one.weight;
    header.staleness = std::max(header.staleness, one.staleness);
    header.dropped += one.dropped;
    parting_drops += one.parting_drops;
    if (one.newest >= 0 && one.newest_at > newest_at) {
      newest_at = one.newest_at;
      header.newest = static_cast<std::int16_t>(one.newest);
    }
    if (one.step_time > 0) times.emplace_back(one.step_time);
    held_up_by = std::max(held_up_by, one.held_up_by);
    round::Facts& facts =
        all.facts.emplace_back(round::Facts{.here = RankSet(machines_.size(machine)),
                                            .counting = RankSet(machines_.size(machine)),
                                            .seen = one.seen,
                                            .slowest = one.slowest});
    for (int rank = 0; rank < machines_.size(machine); ++rank) {
      if (contains(machine, counting, rank)) facts.counting.insert(rank);
    }
    header.last = header.last && facts.counting.empty();
  }
  add_to(all.said.contributors, contributors);
  add_to(all.said.reporters, reporters);
  if (header.last) {  // Nothing comes after it: what ranks have dropped is reported now.
    header.dropped += parting_drops;
    add_to(all.said.reporters, parting_reporters);
  }
  // Who was waited for: the last to come, unless the window waited for another.
  if (held_up_by >= 0) header.newest = static_cast<std::int16_t>(held_up_by);
  all.typical_step = round::median(times);
  return all;
}

void RoundReports::check(std::uint64_t round) const {
  const int world = machines_.ranks();
  for (int machine = 0; machine < machines_.count(); ++machine) {
    const MachineReport one = report(machine);
    const bool newest_is_theirs = one.newest == -1 || (one.newest >= 0 && one.newest < world &&
                                                       machines_.of(one.newest) == machine);
    const bool ranks_fit = newest_is_theirs && one.slowest >= -1 &&
                           one.slowest < machines_.size(machine) && one.held_up_by >= -1 &&
                           one.held_up_by < world;
    if (!ranks_fit) {
      throw BadMessage(machine, "names ranks that there are not");
    }
    const bool seen_fits = one.seen < round || one.seen == round::Facts::kNobodyLags;
    if (!seen_fits || one.staleness > round || one.step_time < 0 ||
        !(one.weight >= 0 && one.weight <= base::kLargestTotalWeight * world)) {
      throw BadMessage(machine,
                       "has numbers that cannot be those of round " + std::to_string(round));
    }
    int brought = 0;
    for (std::size_t i = 0; i < set_words_; ++i) {
      const int left = machines_.size(machine) - static_cast<int>(i) * bits::kPerWord;
      const std::uint64_t absent =
          left >= bits::kPerWord ? 0 : ~std::uint64_t{0} << std::max(left, 0);
      for (const Set which : {contributors, reporters, parting_reporters, counting}) {
        if ((word(machine, which, i) & absent) == 0) continue;
        throw BadMessage(machine, "names ranks that its machine has not");
      }
      brought += std::popcount(word(machine, contributors, i));
    }
    if (brought != one.contributors) {
      throw BadMessage(machine, "counts its contributors in two ways");
    }
  }
}

}  // namespace syncopate::detail

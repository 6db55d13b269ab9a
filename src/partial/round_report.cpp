#include "partial/round_report.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bad_message.h"
#include "round/agreement.h"

namespace syncopate::detail {
namespace {

constexpr int kBits = 64;

}  // namespace

RoundReports::RoundReports(round::Machines machines, std::size_t values_bytes)
    : machines_(std::move(machines)) {
  set_words_ = (static_cast<std::size_t>(machines_.largest()) + kBits - 1) / kBits;
  report_bytes_ = sizeof(MachineReport) + sets * set_words_ * sizeof(std::uint64_t);
  mine_.resize(report_bytes_ + values_bytes);
  reports_.resize(mine_.size() * machines_.count());
}

void RoundReports::clear() { std::fill(mine_.begin(), mine_.end(), std::byte{0}); }

void RoundReports::write(const MachineReport& report) {
  std::memcpy(mine_.data(), &report, sizeof report);
}

void RoundReports::insert(Set which, int rank) {
  auto* words = reinterpret_cast<std::uint64_t*>(mine_.data() + sizeof(MachineReport));
  words[which * set_words_ + rank / kBits] |= std::uint64_t{1} << (rank % kBits);
}

RoundReports::MachineReport RoundReports::report(int machine) const {
  MachineReport result;
  std::memcpy(&result, reports_.data() + machine * mine_.size(), sizeof result);
  return result;
}

std::uint64_t RoundReports::word(int machine, Set which, std::size_t index) const {
  std::uint64_t result = 0;
  const std::byte* sets_of = reports_.data() + machine * mine_.size() + sizeof(MachineReport);
  std::memcpy(&result, sets_of + (which * set_words_ + index) * sizeof result, sizeof result);
  return result;
}

bool RoundReports::contains(int machine, Set which, int rank) const {
  return (word(machine, which, rank / kBits) >> (rank % kBits) & 1) != 0;
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
    if (!seen_fits || one.staleness > round || !(one.weight >= 0) || one.step_time < 0) {
      throw BadMessage(machine,
                       "has numbers that cannot be those of round " + std::to_string(round));
    }
    int brought = 0;
    for (std::size_t i = 0; i < set_words_; ++i) {
      const int left = machines_.size(machine) - static_cast<int>(i) * kBits;
      const std::uint64_t absent = left >= kBits ? 0 : ~std::uint64_t{0} << std::max(left, 0);
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

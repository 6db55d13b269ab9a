#include "explorer/ledger.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "round/trigger.h"

namespace syncopate::testing {
namespace {

/// A digit counts to three, so that a deposit of weight 1 that is in a sum twice shows.
constexpr int kBitsPerDigit = 2;
/// 48 of the 53 bits that a double holds exactly, and 24 of the 24 of a float.
constexpr int kDigitsOfDoubles = 24;
constexpr int kDigitsOfFloats = 12;
/// Element j has the digits in another order, so that elements that change places show.
constexpr int kStrides[] = {1, 5, 7, 11, 13, 17, 19};

std::string on(std::uint64_t round) { return " in round " + std::to_string(round); }

}  // namespace

void Ledger::open(const Plan& plan) {
  plan_ = &plan;
  digits_ = plan.type == DataType::float64 ? kDigitsOfDoubles : kDigitsOfFloats;
  deposits_.clear();
  rounds_.clear();
  read_.assign(plan.ranks, plan.begin_after);
  failure_.clear();
}

int Ledger::digit(int id, std::size_t element) const {
  return (id * kStrides[element] + static_cast<int>(element)) % digits_;
}

std::size_t Ledger::bytes() const { return plan_->elements * size_of(plan_->type); }

int Ledger::begin_deposit(int rank, std::uint64_t base, int weight) {
  deposits_.push_back({.rank = rank, .base = base, .weight = weight});
  return static_cast<int>(deposits_.size()) - 1;
}

void Ledger::end_deposit(int id, bool dropped) {
  deposits_[id].state = dropped ? State::dropped : State::complete;
}

void Ledger::fill(int id, void* values, std::size_t from, std::size_t to) const {
  for (std::size_t i = from; i < to; ++i) {
    const double one = std::ldexp(1.0, kBitsPerDigit * digit(id, i));
    if (plan_->type == DataType::float64) {
      static_cast<double*>(values)[i] = one;
    } else {
      static_cast<float*>(values)[i] = static_cast<float>(one);
    }
  }
}

double Ledger::value(const void* values, std::size_t element) const {
  if (plan_->type == DataType::float64) return static_cast<const double*>(values)[element];
  return static_cast<const float*>(values)[element];
}

const Ledger::Result* Ledger::result(std::uint64_t round) const {
  const std::uint64_t index = round - plan_->begin_after - 1;
  return index < rounds_.size() ? &rounds_[index] : nullptr;
}

void Ledger::published(std::uint64_t round, const void* values, const board::ResultHeader& header,
                       std::uint64_t contributors, std::uint64_t reporters) {
  if (round != plan_->begin_after + rounds_.size() + 1) {
    return fail("round " + std::to_string(round) + " was published after round " +
                std::to_string(plan_->begin_after + rounds_.size()));
  }
  if (!rounds_.empty() && rounds_.back().last) fail("a round after the last one:" + on(round));
  if (header.round != round) fail("the result is about another round:" + on(round));
  Result& result = rounds_.emplace_back();
  std::memcpy(result.values.data(), values, bytes());
  result.contributors = contributors;
  result.reporters = reporters;
  result.staleness = header.staleness;
  result.dropped = header.dropped;
  result.weight = header.weight;
  result.last = header.last;
  decode(round, result);
}

void Ledger::decode(std::uint64_t round, Result& result) {
  std::uint64_t contributors = 0;
  std::uint64_t staleness = 0;
  double weight = 0;
  double counted[kMostElements] = {};
  for (std::size_t id = 0; id < deposits_.size(); ++id) {
    Deposit& deposit = deposits_[id];
    int times = 0;
    for (std::size_t i = 0; i < plan_->elements; ++i) {
      const int place = kBitsPerDigit * digit(static_cast<int>(id), i);
      const auto whole = static_cast<std::uint64_t>(value(result.values.data(), i));
      const int here = static_cast<int>(whole >> place & ((1 << kBitsPerDigit) - 1));
      counted[i] += std::ldexp(here, place);
      if (i == 0) times = here;
      if (here != times)
        return fail("elements disagree about deposit " + std::to_string(id) + on(round));
    }
    if (times == 0) continue;
    if (times != deposit.weight) {
      return fail("deposit " + std::to_string(id) + " of rank " + std::to_string(deposit.rank) +
                  " counts " + std::to_string(times) + " times" + on(round));
    }
    if (++deposit.taken > 1) {
      fail("conservation: deposit " + std::to_string(id) + " of rank " +
           std::to_string(deposit.rank) + " is in a second round:" + on(round));
    }
    contributors |= bit(deposit.rank);
    staleness = std::max(staleness, round - 1 - deposit.base);
    weight += deposit.weight;
    if (round - 1 - deposit.base >= plan_->options.late.younger_than) {
      fail("a deposit that is too old was taken" + on(round));
    }
  }
  for (std::size_t i = 0; i < plan_->elements; ++i) {
    if (value(result.values.data(), i) != counted[i]) {
      return fail("the sum holds what no rank deposited:" + on(round));
    }
  }
  if (contributors != result.contributors) fail("receipt: wrong contributors" + on(round));
  if (staleness != result.staleness) fail("receipt: wrong staleness" + on(round));
  if (weight != result.weight) fail("receipt: wrong weight" + on(round));
  if (staleness > static_cast<std::uint64_t>(plan_->options.window)) {
    fail("staleness " + std::to_string(staleness) + " exceeds the window" + on(round));
  }
  if (contributors == 0 && !result.last && !plan_->has_empty()) {
    fail("no rank contributed" + on(round));
  }
}

void Ledger::read(int rank, std::uint64_t round, const void* values, const Receipt& receipt) {
  const std::string reader = "rank " + std::to_string(rank) + " read ";
  if (round != read_[rank] + 1) {
    fail(reader + "round " + std::to_string(round) + " after " + std::to_string(read_[rank]));
  }
  read_[rank] = round;
  const Result* known = result(round);
  if (known == nullptr) return fail(reader + "an unpublished round:" + on(round));
  read_again(rank, round, values);
  std::uint64_t contributors = 0;
  std::uint64_t reporters = 0;
  for (const int member : receipt.contributors.list()) contributors |= bit(member);
  for (const int member : receipt.dropped.list()) reporters |= bit(member);
  if (receipt.round != round || contributors != known->contributors ||
      reporters != known->reporters || receipt.staleness != known->staleness ||
      receipt.weight != known->weight || receipt.last != known->last ||
      receipt.included != ((contributors & bit(rank)) != 0)) {
    fail(reader + "another receipt than was published" + on(round));
  }
}

void Ledger::read_again(int rank, std::uint64_t round, const void* values) {
  const Result* known = result(round);
  if (known != nullptr && std::memcmp(known->values.data(), values, bytes()) != 0) {
    fail("rank " + std::to_string(rank) + " read another result than was published" + on(round));
  }
}

void Ledger::close(Ranks left_over, Ranks survivors) {
  const bool ended = !rounds_.empty() && rounds_.back().last;
  std::vector<std::uint64_t> dropped(plan_->ranks);
  for (std::size_t id = 0; id < deposits_.size(); ++id) {
    const Deposit& deposit = deposits_[id];
    const std::string name =
        "deposit " + std::to_string(id) + " of rank " + std::to_string(deposit.rank);
    if (deposit.state == State::dropped) {
      ++dropped[deposit.rank];
      if (deposit.taken > 0) fail("conservation: the dropped " + name + " was taken");
    }
    if (deposit.state != State::complete || deposit.taken == 1) continue;
    // Without a last round a rank's deposit may lie there with none left to take it.
    if (ended || (left_over & bit(deposit.rank)) == 0) fail("conservation: " + name + " is lost");
  }
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    const bool follows = (survivors & bit(rank)) != 0 && plan_->ends[rank] == End::finish;
    if (follows && !ended) fail("rank " + std::to_string(rank) + " finished without a last round");
    if (follows && read_[rank] != plan_->begin_after + rounds_.size()) {
      fail("rank " + std::to_string(rank) + " did not read the last round");
    }
    if (!follows || dropped[rank] == 0) continue;
    const bool reported = std::any_of(rounds_.begin(), rounds_.end(), [rank](const Result& round) {
      return (round.reporters & bit(rank)) != 0;
    });
    if (!reported) fail("no receipt says that rank " + std::to_string(rank) + " dropped");
  }
}

}  // namespace syncopate::testing

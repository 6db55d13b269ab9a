#include "round/groups.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "round/trigger.h"

namespace syncopate::round {
namespace {

bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }

int log2_of(int value) { return std::countr_zero(static_cast<unsigned>(value)); }

}  // namespace

int GroupSchedule::steps_to_reach_all(int ranks, int group_size) {
  if (group_size < 2) return ranks < 2 ? 0 : -1;
  int steps = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= group_size) ++steps;
  return steps;
}

int GroupSchedule::default_size(int ranks) {
  if (is_power_of_two(ranks)) return 1 << ((log2_of(ranks) + 1) / 2);
  return static_cast<int>(std::lround(std::sqrt(ranks)));
}

GroupSchedule::GroupSchedule(int ranks, int group_size, bool rotate, std::uint64_t seed)
    : ranks_(ranks),
      size_(group_size),
      groups_(std::max(1, ranks / group_size)),
      rotate_(rotate),
      butterfly_(is_power_of_two(ranks) && is_power_of_two(group_size)),
      start_(ranks) {
  if (butterfly_) return;
  std::iota(start_.begin(), start_.end(), 0);
  for (int place = ranks - 1; place > 0; --place) {
    std::swap(start_[place], start_[below(place + 1, mix(seed, place))]);
  }
  deal(groups_);
  while (size_ > 1 && !reaches_all_in_time()) deal(groups_ - 1);
}

int GroupSchedule::first_place(int group) const {
  // The first groups take one of what is left over each.
  return group * (ranks_ / groups_) + std::min(group, ranks_ % groups_);
}

int GroupSchedule::group_at(int place) const {
  int group = std::min(groups_ - 1, place / (ranks_ / groups_));
  while (first_place(group) > place) --group;
  return group;
}

void GroupSchedule::deal(int groups) {
  groups_ = groups;
  deal_.clear();
  const int largest = (ranks_ + groups - 1) / groups;
  for (int nth = 0; nth < largest; ++nth) {
    for (int group = 0; group < groups; ++group) {
      const int place = first_place(group) + nth;
      const int end = group + 1 < groups ? first_place(group + 1) : ranks_;
      if (place < end) deal_.push_back(place);
    }
  }
}

bool GroupSchedule::reaches_all_in_time() const {
  // Of which groups of the first step a group has heard, as bits. Every step looks alike from the
  // places, so the first ⌈log_S P⌉ steps tell about all.
  using Bits = std::vector<std::uint64_t>;
  constexpr int kBits = 64;
  std::vector<Bits> heard(groups_, Bits((groups_ + kBits - 1) / kBits));
  for (int group = 0; group < groups_; ++group) {
    heard[group][group / kBits] |= std::uint64_t{1} << group % kBits;
  }
  for (int step = 1; step < steps_to_reach_all(ranks_, size_); ++step) {
    std::vector<Bits> next(groups_, Bits(heard.front().size()));
    for (int place = 0; place < ranks_; ++place) {
      const Bits& brought = heard[group_at(deal_[place])];
      Bits& together = next[group_at(place)];
      for (std::size_t i = 0; i < together.size(); ++i) together[i] |= brought[i];
    }
    heard = std::move(next);
  }
  return std::ranges::all_of(heard, [this](const Bits& bits) {
    int groups = 0;
    for (const std::uint64_t word : bits) groups += std::popcount(word);
    return groups == groups_;
  });
}

GroupSchedule::Order GroupSchedule::order_at(std::uint64_t step) const {
  // The deal applied `step` times, by squaring, so that any step can be asked for.
  Order power = deal_;
  Order total(ranks_);
  std::iota(total.begin(), total.end(), 0);
  const auto then = [&](const Order& first, const Order& second) {
    Order both(ranks_);
    for (int place = 0; place < ranks_; ++place) both[place] = first[second[place]];
    return both;
  };
  for (std::uint64_t left = rotate_ ? step : 0; left > 0; left >>= 1) {
    if ((left & 1) != 0) total = then(total, power);
    power = then(power, power);
  }
  Order order(ranks_);
  for (int place = 0; place < ranks_; ++place) order[place] = start_[total[place]];
  return order;
}

unsigned GroupSchedule::butterfly(std::uint64_t step) const {
  const int bits = log2_of(ranks_);
  const int width = log2_of(size_);
  unsigned mask = 0;
  for (int i = 0; i < width; ++i) {
    mask |= 1U << ((rotate_ ? step % bits : 0) * width + i) % static_cast<unsigned>(bits);
  }
  return mask;
}

std::vector<int> GroupSchedule::members(std::uint64_t step, int rank) const {
  if (butterfly_) {
    const unsigned mask = butterfly(step);
    std::vector<int> members;
    unsigned bits = 0;
    do {
      members.push_back(static_cast<int>((static_cast<unsigned>(rank) & ~mask) | bits));
      bits = (bits - mask) & mask;  // The next larger number of bits in the mask alone.
    } while (bits != 0);
    return members;
  }
  const Order order = order_at(step);
  const int group =
      group_at(static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin()));
  const auto begin = order.begin() + first_place(group);
  const auto end = group + 1 < groups_ ? order.begin() + first_place(group + 1) : order.end();
  std::vector<int> members(begin, end);
  std::sort(members.begin(), members.end());
  return members;
}

int GroupSchedule::group_of(std::uint64_t step, int rank) const {
  if (!butterfly_) {
    const Order order = order_at(step);
    return group_at(static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin()));
  }
  // The bits that are not in the mask, moved together: groups in the order of their smallest
  // members.
  const unsigned mask = butterfly(step);
  int group = 0;
  for (int bit = 0, to = 0; bit < log2_of(ranks_); ++bit) {
    if ((mask >> bit & 1U) != 0) continue;
    group |= (rank >> bit & 1) << to++;
  }
  return group;
}

std::vector<int> GroupPlan::members_at(std::uint64_t step, int rank) const {
  if (!everyone_at(step)) return schedule_.members(step - 1, rank);
  std::vector<int> members(ranks_);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace syncopate::round

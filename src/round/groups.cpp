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
  // Whose news each place has heard. Every step looks alike from the places, so the first
  // ⌈log_S P⌉ steps tell about all.
  std::vector<std::vector<bool>> heard(ranks_, std::vector<bool>(ranks_));
  for (int place = 0; place < ranks_; ++place) heard[place][place] = true;
  for (int step = 0; step < steps_to_reach_all(ranks_, size_); ++step) {
    for (int group = 0; group < groups_; ++group) {
      const int begin = first_place(group);
      const int end = group + 1 < groups_ ? first_place(group + 1) : ranks_;
      std::vector<bool> together(ranks_);
      for (int place = begin; place < end; ++place) {
        for (int rank = 0; rank < ranks_; ++rank) {
          if (heard[place][rank]) together[rank] = true;
        }
      }
      for (int place = begin; place < end; ++place) heard[place] = together;
    }
    auto dealt = heard;
    for (int place = 0; place < ranks_; ++place) dealt[place] = heard[deal_[place]];
    heard = std::move(dealt);
  }
  return std::all_of(heard.begin(), heard.end(), [](const std::vector<bool>& one) {
    return std::all_of(one.begin(), one.end(), [](bool known) { return known; });
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

std::vector<int> GroupSchedule::butterfly(std::uint64_t step, int rank) const {
  const int bits = log2_of(ranks_);
  const int width = log2_of(size_);
  std::vector<int> members = {rank};
  for (int i = 0; i < width; ++i) {
    const int position =
        static_cast<int>(((rotate_ ? step % bits : 0) * width + i) % static_cast<unsigned>(bits));
    for (std::size_t member = 0, known = members.size(); member < known; ++member) {
      members.push_back(members[member] ^ (1 << position));
    }
  }
  std::sort(members.begin(), members.end());
  return members;
}

std::vector<int> GroupSchedule::members(std::uint64_t step, int rank) const {
  if (butterfly_) return butterfly(step, rank);
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
  // Groups in the order of their smallest members.
  const int smallest = butterfly(step, rank).front();
  int group = 0;
  for (int other = 0; other < smallest; ++other) {
    group += butterfly(step, other).front() == other ? 1 : 0;
  }
  return group;
}

}  // namespace syncopate::round

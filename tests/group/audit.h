// Checks a group average from inside every rank. What a rank publishes at a step is a pure
// function of both, and each rank has a column of the vector to itself, so the new weights tell
// which publication of every member was in the sum. From these the new weights are computed
// again, and must be the same bit for bit. What ranks of one group must agree on they write into
// a book that they share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"
#include "round/groups.h"
#include "support/group_merge.h"
#include "syncopate/group_average.h"

namespace syncopate::testing {

struct GroupBook {
  static constexpr int kRanks = 32;
  static constexpr int kSteps = 1 << 12;

  std::atomic<std::uint64_t> begun[kRanks];  ///< The step whose publication a rank has begun.
  std::atomic<std::uint64_t> made[kRanks];   ///< … and the last that is on the board for sure.
  /// Per step and smallest scheduled member of the group: the publications in the sum, and the
  /// bits that members read who were in it.
  std::atomic<std::uint64_t> chosen[kSteps][kRanks];
  std::atomic<std::uint64_t> bits[kSteps][kRanks];
};

struct GroupTotals {
  std::uint64_t steps = 0;
  std::uint64_t included = 0;
  std::uint64_t stale = 0;  ///< Steps with a rank's older weights in the sum.
};

template <typename T>
class GroupAudit {
 public:
  /// `options` with all defaults filled in.
  GroupAudit(GroupBook& book, const World& world, std::size_t elements, const GroupOptions& options)
      : book_(book),
        ranks_(world.size()),
        rank_(world.rank()),
        elements_(elements),
        options_(options),
        schedule_(ranks_, options.group_size, options.rotate, options.seed),
        merge_(options.late, initial()) {}

  std::vector<T> initial() const { return publication(0, 0); }

  /// Writes what this rank publishes next.
  void make(T* weights) {
    ++step_;
    book_.begun[rank_] = step_;
    const std::vector<T> values = publication(rank_, step_);
    std::copy(values.begin(), values.end(), weights);
  }
  void published() { book_.made[rank_] = step_; }

  /// What the average brought.
  void check(const GroupReceipt& receipt, const T* weights) {
    published();
    ++totals_.steps;
    totals_.included += receipt.included ? 1 : 0;
    totals_.stale += receipt.staleness > 0 ? 1 : 0;
    ASSERT_EQ(receipt.step, step_);
    const bool everyone = options_.synchronize_every > 0 && step_ % options_.synchronize_every == 0;
    EXPECT_EQ(receipt.everyone, everyone);
    std::vector<int> members(ranks_);
    for (int rank = 0; rank < ranks_; ++rank) members[rank] = rank;
    if (!everyone) members = schedule_.members(step_ - 1, rank_);
    EXPECT_EQ(receipt.members.list(), members);
    EXPECT_LE(receipt.staleness, static_cast<std::uint64_t>(options_.window));
    EXPECT_TRUE(receipt.dead.empty());
    if (everyone || options_.trigger.kind == Trigger::Kind::all) {
      EXPECT_EQ(receipt.staleness, 0U);
      EXPECT_TRUE(receipt.included);
    }
    if (receipt.included) check_same(book_.bits, members, hash(weights), "bits");
    if (elements_ >= columns()) check_sum(receipt, members, weights);
    merge_.follow(step_, publication(rank_, step_), {weights, elements_});
  }

  const GroupTotals& totals() const { return totals_; }

 private:
  /// More than any window in these tests, so that a column tells the step.
  static constexpr std::uint64_t kTold = 31;

  /// A column per rank, and one that all share: without it the initial weights would be zeros.
  std::size_t columns() const { return static_cast<std::size_t>(ranks_) + 1; }

  /// The columns repeat along the vector, alternately once and twice their value.
  static double factor(std::size_t element, std::size_t columns) {
    return 1 + element / columns % 2;
  }

  double code(int rank, std::uint64_t step, std::size_t column) const {
    if (column == columns() - 1) return step == 0 ? 1 : 2;
    return step > 0 && column == static_cast<std::size_t>(rank) ? 1 + step % kTold : 0;
  }

  /// Step 0 stands for the initial weights.
  std::vector<T> publication(int rank, std::uint64_t step) const {
    std::vector<T> values(elements_);
    for (std::size_t e = 0; e < elements_; ++e) {
      values[e] = T(static_cast<float>(code(rank, step, e % columns()) * factor(e, columns())));
    }
    return values;
  }

  std::uint64_t hash(const T* weights) const {
    return std::hash<std::string_view>()(
               {reinterpret_cast<const char*>(weights), elements_ * sizeof(T)}) |
           1;  // Zero means that no rank has looked yet.
  }

  template <typename Table>
  void check_same(Table& table, const std::vector<int>& members, std::uint64_t print,
                  const char* what) {
    ASSERT_LT(step_, static_cast<std::uint64_t>(GroupBook::kSteps));
    std::uint64_t known = 0;
    if (!table[step_][members.front()].compare_exchange_strong(known, print)) {
      EXPECT_EQ(print, known) << "two members of a group differ in the " << what << " of step "
                              << step_;
    }
  }

  void check_sum(const GroupReceipt& receipt, const std::vector<int>& members, const T* weights) {
    const auto count = static_cast<double>(members.size());
    const int lag = int(receipt.own_staleness);
    const std::vector<T> own = publication(rank_, step_);
    std::vector<std::vector<T>> used;
    std::uint64_t staleness = 0;
    std::uint64_t print = 1;
    for (const int member : members) {
      const double sum =
          merge_.sum_behind(float(weights[member]), step_, lag, count, member, float(own[member]));
      const std::uint64_t step = step_of(std::round(sum));
      ASSERT_LE(step, book_.begun[member]) << "more than rank " << member << " ever published";
      if (member == rank_) {
        EXPECT_EQ(step == step_, receipt.included);
        EXPECT_EQ(step_ - step, receipt.own_staleness);
      }
      staleness = std::max(staleness, step_ - step);
      print = print * 1000003 + step * 2;
      used.push_back(publication(member, step));
    }
    EXPECT_EQ(receipt.staleness, staleness);
    check_same(book_.chosen, members, print, "publications");
    std::vector<board::Term> terms;
    for (const auto& values : used) terms.push_back({.values = values.data(), .weight = 1});
    std::vector<T> mean(elements_);
    board::weighted_sum(data_type<T>, elements_, terms, 1 / count, mean.data());
    const std::vector<T> expected = merge_.weights(step_, lag, count, mean, own);
    EXPECT_EQ(std::memcmp(expected.data(), weights, elements_ * sizeof(T)), 0)
        << "rank " << rank_ << " has other weights after step " << step_
        << " than the receipt and the publications make";
  }

  /// The newest step up to this one whose code is `code_sum`; 0 for the initial weights.
  std::uint64_t step_of(double code_sum) const {
    if (code_sum == 0) return 0;
    for (std::uint64_t step = step_; step > 0 && step + kTold > step_; --step) {
      if (1 + static_cast<double>(step % kTold) == code_sum) return step;
    }
    ADD_FAILURE() << "no publication has the code " << code_sum;
    return step_;
  }

  GroupBook& book_;
  int ranks_;
  int rank_;
  std::size_t elements_;
  GroupOptions options_;
  round::GroupSchedule schedule_;
  GroupMerge<T> merge_;
  std::uint64_t step_ = 0;
  GroupTotals totals_;
};

}  // namespace syncopate::testing

// Checks a partial allreduce from inside every rank. What each rank deposits is a pure function
// of its number and of how many deposits it made before, and small whole numbers add up exactly,
// so any rank can tell from a round's sum which deposits are in it: those of one rank come in
// order, each once. What is not a pure function (the round a deposit was computed on, the bits
// of each round's result) the ranks write into a book that they share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "syncopate/partial_allreduce.h"

namespace syncopate::testing {

/// What the ranks of one collective tell each other behind its back.
struct AuditBook {
  static constexpr int kRanks = 32;
  static constexpr int kDeposits = 1 << 14;
  static constexpr int kRounds = 1 << 18;

  std::atomic<std::uint32_t> made[kRanks];  ///< Deposits that a rank has begun.
  std::atomic<std::uint32_t> base[kRanks][kDeposits];
  std::atomic<bool> dropped[kRanks][kDeposits];
  std::atomic<std::uint64_t> fingerprint[kRounds];
};

template <typename T>
class Audit {
 public:
  Audit(AuditBook& book, const World& world, std::size_t elements, bool weighted, int window)
      : book_(book),
        ranks_(world.size()),
        rank_(world.rank()),
        elements_(elements),
        weighted_(weighted),
        window_(window),
        next_(ranks_),
        totals_of_columns_(columns()) {}

  /// Writes this rank's next deposit and notes that it is about to be made; returns its weight.
  double make(T* values) {
    const std::uint32_t number = made_++;
    EXPECT_LT(number, AuditBook::kDeposits);
    for (std::size_t e = 0; e < elements_; ++e) {
      values[e] = T(static_cast<float>(value(rank_, number, e % columns()) * factor(e)));
    }
    book_.base[rank_][number] = static_cast<std::uint32_t>(seen_);
    book_.made[rank_] = made_;
    return weight(rank_, number);
  }

  /// To be called after each deposit where the late policy may drop: with what dropped() says.
  void note_dropped(std::uint64_t dropped) {
    if (dropped != dropped_) book_.dropped[rank_][made_ - 1] = true;
    dropped_ = dropped;
  }

  void check(const Round<T>& round) {
    ASSERT_EQ(round.number(), seen_ + 1) << "a round was skipped or came twice";
    seen_ = round.number();
    const Receipt receipt = round.receipt();
    const std::span<const T> sum = round.sum();
    ASSERT_EQ(sum.size(), elements_);
    check_fingerprint(sum, receipt);
    EXPECT_EQ(receipt.round, seen_);
    EXPECT_EQ(receipt.included, receipt.contributors.contains(rank_));
    EXPECT_LE(receipt.staleness, static_cast<std::uint64_t>(window_));
    EXPECT_TRUE(receipt.dead.empty());
    EXPECT_GE(receipt.waited.count(), 0);
    EXPECT_FALSE(last_) << "a round after the last one";
    last_ = receipt.last;
    weight_ += receipt.weight;
    for (std::size_t c = 0; c < std::min(columns(), elements_); ++c) {
      totals_of_columns_[c] += static_cast<float>(sum[c]);
    }
    if (elements_ >= columns()) check_sum(sum, receipt);
  }

  /// Once all is over: every deposit of every rank was in a round.
  void settle() {
    EXPECT_TRUE(last_) << "finish() ended without a last round";
    std::vector<double> expected(columns());
    double expected_weight = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      for (std::uint32_t i = 0; i < book_.made[rank]; ++i) {
        if (book_.dropped[rank][i]) continue;
        expected_weight += weight(rank, i);
        for (std::size_t c = 0; c < columns(); ++c) {
          expected[c] += value(rank, i, c) * weight(rank, i);
        }
      }
    }
    EXPECT_EQ(weight_, expected_weight);
    for (std::size_t c = 0; c < std::min(columns(), elements_); ++c) {
      EXPECT_EQ(totals_of_columns_[c], expected[c]) << "column " << c;
    }
  }

 private:
  /// A column per rank that only this rank writes to, and one that all share.
  std::size_t columns() const { return static_cast<std::size_t>(ranks_) + 1; }

  /// The columns repeat along the vector, alternately once and twice their value.
  double factor(std::size_t element) const { return 1 + element / columns() % 2; }

  /// Small enough that a few dozen of them add up exactly even in bfloat16.
  double value(int rank, std::uint32_t number, std::size_t column) const {
    if (column == columns() - 1) return 1 + rank % 2;
    if (column == static_cast<std::size_t>(rank)) return 1 + (number * 5 + rank) % 7;
    return 0;
  }

  double weight(int rank, std::uint32_t number) const {
    return weighted_ ? 1 + (number + rank) % 3 : 1;
  }

  void check_fingerprint(std::span<const T> sum, const Receipt& receipt) {
    const std::string_view bytes(reinterpret_cast<const char*>(sum.data()), sum.size_bytes());
    std::uint64_t print = std::hash<std::string_view>()(bytes);
    for (const int rank : receipt.contributors.list()) print = print * 31 + rank;
    for (const int rank : receipt.dropped.list()) print = print * 37 + rank;
    print |= 1;  // Zero means that no rank has looked yet.
    ASSERT_LT(receipt.round, static_cast<std::uint64_t>(AuditBook::kRounds));
    std::uint64_t known = 0;
    if (!book_.fingerprint[receipt.round].compare_exchange_strong(known, print)) {
      EXPECT_EQ(print, known) << "two ranks read different results of round " << receipt.round;
    }
  }

  /// Takes deposits of each rank in their order until they make up what is in the sum.
  void check_sum(std::span<const T> sum, const Receipt& receipt) {
    std::vector<double> expected(columns());
    double expected_weight = 0;
    std::uint64_t staleness = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const double got = static_cast<float>(sum[rank]);
      double& taken = expected[rank];
      std::uint32_t& next = next_[rank];
      EXPECT_EQ(receipt.contributors.contains(rank), got > 0) << "rank " << rank;
      while (taken < got) {
        while (next < book_.made[rank] && book_.dropped[rank][next]) ++next;
        ASSERT_LT(next, book_.made[rank]) << "more than rank " << rank << " ever deposited";
        const double times = weight(rank, next);
        taken += value(rank, next, rank) * times;
        expected.back() += value(rank, next, columns() - 1) * times;
        expected_weight += times;
        staleness = std::max(staleness, receipt.round - 1 - book_.base[rank][next]);
        ++next;
      }
    }
    EXPECT_EQ(receipt.weight, expected_weight);
    EXPECT_EQ(receipt.staleness, staleness);
    for (std::size_t e = 0; e < elements_; ++e) {
      ASSERT_EQ(static_cast<float>(sum[e]), expected[e % columns()] * factor(e))
          << "round " << receipt.round << ", element " << e;
    }
  }

  AuditBook& book_;
  int ranks_;
  int rank_;
  std::size_t elements_;
  bool weighted_;
  int window_;
  std::uint64_t seen_ = 0;
  std::uint32_t made_ = 0;
  std::uint64_t dropped_ = 0;
  bool last_ = false;
  double weight_ = 0;
  std::vector<std::uint32_t> next_;  ///< Per rank: its first deposit that no round has taken.
  std::vector<double> totals_of_columns_;
};

}  // namespace syncopate::testing

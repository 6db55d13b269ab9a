// Which samples a rank takes under biased local SGD: a slow one those with the highest known
// losses among its candidates, a fast one all alike.
#include "strategy/biased_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "syncopate/strategy.h"

namespace syncopate::testing {
namespace {

using strategy::BiasedSampler;
using Samples = std::vector<std::int64_t>;

constexpr int kSamples = 100;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// Exchanges what the ranks have noted, as the strategy does.
void merge(const std::vector<BiasedSampler*>& ranks) {
  const std::size_t samples = ranks.front()->scores().size();
  std::vector<float> all(2 * samples), one(2 * samples);
  for (const BiasedSampler* rank : ranks) {
    rank->give(one);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += one[i];
  }
  for (BiasedSampler* rank : ranks) rank->merge(all);
}

/// A sampler that knows the loss of each sample: its number.
BiasedSampler informed(double ratio, std::uint64_t seed = 1, int rank = 0) {
  BiasedSampler sampler(kSamples, ratio, seed, rank);
  for (std::int64_t i = 0; i < kSamples; ++i) sampler.note({&i, 1}, std::vector{float(i)});
  merge({&sampler});
  return sampler;
}

Samples sorted(Samples samples) {
  std::ranges::sort(samples);
  return samples;
}

TEST(BiasedSampler, ASlowRankTakesTheHighestLossesOfItsCandidates) {
  BiasedSampler everything = informed(10);
  everything.begin_period(10, true);  // 100 candidates: the top ten of all.
  EXPECT_EQ(sorted(everything.next(10)), (Samples{90, 91, 92, 93, 94, 95, 96, 97, 98, 99}));

  BiasedSampler some = informed(4);
  double sum = 0;
  for (int period = 0; period < 200; ++period) {
    some.begin_period(10, true);
    const Samples samples = some.next(10);
    EXPECT_EQ(std::set<std::int64_t>(samples.begin(), samples.end()).size(), 10U);
    for (const std::int64_t sample : samples) sum += double(sample);
  }
  EXPECT_NEAR(sum / 2000, 87, 2) << "the top quarter of random candidates";
}

TEST(BiasedSampler, ASlowRankTakesItsSamplesInAnyOrder) {
  BiasedSampler sampler = informed(5);
  double earlier_minus_later = 0;
  for (int period = 0; period < 400; ++period) {
    sampler.begin_period(20, true);
    for (const std::int64_t sample : sampler.next(10)) earlier_minus_later += double(sample);
    for (const std::int64_t sample : sampler.next(10)) earlier_minus_later -= double(sample);
  }
  EXPECT_NEAR(earlier_minus_later / 4000, 0, 0.6) << "deviates by 0.13";
}

TEST(BiasedSampler, AFastRankTakesAllAlike) {
  BiasedSampler sampler = informed(10);
  std::vector<int> taken(kSamples);
  for (int period = 0; period < 200; ++period) {
    sampler.begin_period(10, false);
    for (const std::int64_t sample : sampler.next(10)) ++taken[sample];
  }
  // Twenty each are expected, with a deviation of four and a bit.
  for (const int times : taken) EXPECT_NEAR(times, 20, 20);
}

TEST(BiasedSampler, AFastRankCoversEverythingInAPeriodThatIsLongEnough) {
  BiasedSampler sampler = informed(4);
  for (const int wanted : {kSamples, 5 * kSamples}) {
    sampler.begin_period(std::size_t(wanted), false);
    Samples all(kSamples);
    for (int i = 0; i < kSamples; ++i) all[i] = i;
    for (int times = 0; times < wanted / kSamples; ++times) {
      EXPECT_EQ(sorted(sampler.next(kSamples)), all) << "each once before any comes again";
    }
  }
}

TEST(BiasedSampler, FastRanksCoverEverythingOverPeriods) {
  BiasedSampler first(kSamples, 4, 1, 0), second(kSamples, 4, 1, 1);
  std::set<std::int64_t> taken;
  for (int period = 0; period < 12; ++period) {
    for (BiasedSampler* rank : {&first, &second}) {
      rank->begin_period(kSamples / 2, false);
      for (const std::int64_t sample : rank->next(kSamples / 2)) taken.insert(sample);
    }
  }
  EXPECT_EQ(taken.size(), std::size_t(kSamples));
}

TEST(BiasedSampler, WhatNobodyHasSeenComesFirst) {
  BiasedSampler sampler(kSamples, 10, 1, 0);
  for (std::int64_t i = 0; i < kSamples; ++i) {
    if (i % 10 != 3) sampler.note({&i, 1}, std::vector{1e30F});
  }
  merge({&sampler});
  EXPECT_EQ(sampler.scores()[3], kInfinite);
  sampler.begin_period(10, true);
  EXPECT_EQ(sorted(sampler.next(10)), (Samples{3, 13, 23, 33, 43, 53, 63, 73, 83, 93}));
}

TEST(BiasedSampler, AFreshLossReplacesAStaleOneHigherOrLower) {
  BiasedSampler first(3, 4, 1, 0), second(3, 4, 1, 1);
  first.note(Samples{0, 1}, std::vector{1.0F, 9.0F});
  merge({&first, &second});
  second.note(Samples{0, 1}, std::vector{8.0F, 2.0F});
  merge({&first, &second});
  for (const BiasedSampler* rank : {&first, &second}) {
    EXPECT_EQ(rank->scores()[0], 8);
    EXPECT_EQ(rank->scores()[1], 2);
    EXPECT_EQ(rank->scores()[2], kInfinite);
  }
  merge({&first, &second});
  EXPECT_EQ(first.scores()[0], 8) << "what no rank saw anew stays";
}

TEST(BiasedSampler, SeveralFreshLossesOfASampleCountAsTheirMean) {
  BiasedSampler first(2, 4, 1, 0), second(2, 4, 1, 1);
  first.note(Samples{0, 0}, std::vector{1.0F, 2.0F});
  second.note(Samples{0, 1}, std::vector{6.0F, 5.0F});
  merge({&first, &second});
  EXPECT_EQ(first.scores()[0], 3);
  EXPECT_EQ(first.scores()[1], 5);
}

TEST(BiasedSampler, ALossThatIsNoNumberIsIgnored) {
  BiasedSampler sampler(2, 4, 1, 0);
  sampler.note(Samples{0, 0, 1}, std::vector{std::nanf(""), 4.0F, kInfinite});
  merge({&sampler});
  EXPECT_EQ(sampler.scores()[0], 4);
  EXPECT_EQ(sampler.scores()[1], kInfinite);
}

Samples several_periods(BiasedSampler sampler) {
  Samples all;
  for (int period = 0; period < 5; ++period) {
    sampler.begin_period(20, period % 2 == 0);
    const Samples samples = sampler.next(30);
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

TEST(BiasedSampler, DrawsAreAFunctionOfTheSeedAndTheRank) {
  EXPECT_EQ(several_periods(informed(4, 7, 2)), several_periods(informed(4, 7, 2)));
  EXPECT_NE(several_periods(informed(4, 7, 2)), several_periods(informed(4, 8, 2)));
  EXPECT_NE(several_periods(informed(4, 7, 2)), several_periods(informed(4, 7, 3)));
  EXPECT_NE(several_periods(informed(4, 7, 2)),
            several_periods(informed(4, 7 + (std::uint64_t{1} << 32), 2)));
}

TEST(BiasedSampler, APeriodThatIsUsedUpBeginsAgainWithOtherDraws) {
  BiasedSampler sampler = informed(4);
  sampler.begin_period(20, true);
  const Samples samples = sampler.next(40);
  EXPECT_NE(sorted({samples.begin(), samples.begin() + 20}),
            sorted({samples.begin() + 20, samples.end()}));
}

/// A sampler as the state of a strategy.
struct Kept final : Strategy {
  explicit Kept(BiasedSampler& its) : sampler(its) {}
  void begin_step() override {}
  void end_step(Duration /*computing*/) override {}
  void stop() override {}
  bool follow() override { return false; }
  void finish() override {}
  void describe(StateFields& state) override { sampler.describe(state); }
  BiasedSampler& sampler;
};

TEST(BiasedSampler, GoesOnWithWhatItKnewWhenItIsRestored) {
  BiasedSampler one = informed(4);
  one.begin_period(20, true);
  one.next(20);
  const std::vector<std::int64_t> seen{3, 5, 3};
  one.note(seen, std::vector<float>{1, 2, 4});
  BiasedSampler other(kSamples, 4, 1, 0);
  Kept(other).load(Kept(one).save());
  std::vector<float> given(2 * kSamples), again(2 * kSamples);
  one.give(given);
  other.give(again);
  EXPECT_EQ(given, again);
  EXPECT_EQ(given[3], 5);
  one.begin_period(20, true);
  other.begin_period(20, true);
  EXPECT_EQ(one.next(20), other.next(20));
}

}  // namespace
}  // namespace syncopate::testing

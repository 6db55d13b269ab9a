// Each rank goes once through its share of every epoch's shuffle.
#include "train/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace syncopate::train {
namespace {

using Samples = std::vector<std::int64_t>;
constexpr std::pair<std::int64_t, int> kShapes[] = {{12, 4}, {13, 4}, {100, 7}, {32, 32}, {5, 1}};

TEST(EpochSampler, TogetherRanksTakeEverySampleOnceInAnEpoch) {
  for (const auto& [samples, ranks] : kShapes) {
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::multiset<std::int64_t> taken;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto share = std::size_t(samples * (rank + 1) / ranks - samples * rank / ranks);
        EpochSampler sampler(samples, rank, ranks, 7);
        sampler.skip_to(share * std::size_t(epoch));
        for (const std::int64_t sample : sampler.next(share)) {
          EXPECT_EQ(sample / samples, epoch) << "samples are numbered onwards";
          taken.insert(sample % samples);
        }
      }
      for (std::int64_t i = 0; i < samples; ++i) {
        EXPECT_EQ(taken.count(i), 1U) << samples << " samples, " << ranks << " ranks, sample " << i;
      }
    }
  }
}

TEST(EpochSampler, EveryEpochAndEverySeedHasAnOrderOfItsOwn) {
  EpochSampler sampler(100, 0, 1, 7), other(100, 0, 1, 8);
  const Samples first = sampler.next(100);
  Samples second = sampler.next(100);
  for (std::int64_t& sample : second) sample -= 100;
  EXPECT_NE(first, second);
  EXPECT_NE(first, other.next(100));
  EXPECT_FALSE(std::ranges::is_sorted(first));
}

TEST(EpochSampler, SkippingIsTheSameAsTaking) {
  for (const auto& [samples, ranks] : kShapes) {
    for (const std::uint64_t taken : {0, 1, 5, 17, 230}) {
      EpochSampler walked(samples, ranks - 1, ranks, 3), jumped(samples, ranks - 1, ranks, 3);
      walked.next(taken);
      jumped.skip_to(taken);
      EXPECT_EQ(walked.taken(), jumped.taken());
      EXPECT_EQ(walked.next(40), jumped.next(40));
    }
  }
}

TEST(EpochSampler, GroupsSamplesOfEqualWorkAndStillTakesEachOnce) {
  EpochSampler sampler(120, 1, 3, 7);
  const auto work = [](std::int64_t sample) { return double(sample * 37 % 120); };
  sampler.group(8, work);
  Samples taken;
  std::vector<double> heaviest;
  for (int batch = 0; batch < 5; ++batch) {
    const Samples samples = sampler.next(8);
    const auto [least, most] = std::ranges::minmax(samples, {}, work);
    EXPECT_LT(work(most) - work(least), 50) << "a fifth of the range, and some room";
    heaviest.push_back(work(most));
    taken.insert(taken.end(), samples.begin(), samples.end());
  }
  EXPECT_FALSE(std::ranges::is_sorted(heaviest)) << "batches come in a drawn order";
  EpochSampler plain(120, 1, 3, 7);
  Samples expected = plain.next(40);
  std::ranges::sort(taken);
  std::ranges::sort(expected);
  EXPECT_EQ(taken, expected);
}

TEST(EpochSampler, DoesNotDependOnHowManyAreTakenAtOnce) {
  EpochSampler whole(50, 1, 3, 1), bits(50, 1, 3, 1);
  const Samples expected = whole.next(60);
  Samples gathered;
  while (gathered.size() < expected.size()) {
    for (const std::int64_t sample : bits.next(5)) gathered.push_back(sample);
  }
  EXPECT_EQ(gathered, expected);
}

TEST(EpochSampler, MoreRanksThanSamplesStillGetSome) {
  for (int rank = 0; rank < 8; ++rank) {
    EpochSampler sampler(3, rank, 8, 1);
    for (const std::int64_t sample : sampler.next(10)) {
      EXPECT_GE(sample % 3, 0);
      EXPECT_LT(sample % 3, 3);
    }
  }
}

TEST(DrawnSamples, AreNumberedOnwardsInEveryStepAsAnEpochIs) {
  const Samples drawn = {3, 0, 3, 11};
  EXPECT_EQ(number_onwards(drawn, 0, 12), drawn);
  EXPECT_EQ(number_onwards(drawn, 5, 12), (Samples{63, 60, 63, 71}));
  EXPECT_EQ(number_onwards({}, 5, 12), Samples{}) << "nothing was drawn";
}

}  // namespace
}  // namespace syncopate::train

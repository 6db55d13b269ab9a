// Generated data: what is promised about it, and that it depends on the seed alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "train/data/hyperplane.h"
#include "train/data/video.h"

namespace syncopate::train {
namespace {

struct Row {
  std::vector<float> inputs = std::vector<float>(Hyperplane::kInputs);
  float target = 0;
};

Row row(const Hyperplane& plane, std::int64_t number) {
  Row result;
  result.target = plane.sample(number, std::span<float, Hyperplane::kInputs>(result.inputs));
  return result;
}

std::vector<float> video(const Videos& videos, std::int64_t number) {
  std::vector<float> values(std::size_t(videos.clips(number)) * Videos::kFeatures);
  videos.features(number, values);
  return values;
}

TEST(HyperplaneData, DependsOnSeedAndNumberAlone) {
  const Hyperplane plane(3), same(3), other(4);
  row(same, 17);
  EXPECT_EQ(row(plane, 5).inputs, row(same, 5).inputs);
  EXPECT_EQ(row(plane, 5).target, row(same, 5).target);
  EXPECT_NE(row(plane, 5).inputs, row(plane, 6).inputs);
  EXPECT_NE(row(plane, 5).inputs, row(other, 5).inputs);
}

TEST(HyperplaneData, HasUncorrelatedInputsOfVarianceOne) {
  const Hyperplane plane(1);
  constexpr int kRows = 200;
  constexpr double kCount = double(kRows) * Hyperplane::kInputs;
  double sum = 0, squares = 0, neighbors = 0, rows = 0;
  for (int i = 0; i < kRows; ++i) {
    const auto x = row(plane, i).inputs, y = row(plane, i + 1).inputs;
    sum += std::accumulate(x.begin(), x.end(), 0.0);
    squares += std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    neighbors += std::inner_product(x.begin() + 1, x.end(), x.begin(), 0.0);
    rows += std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }
  const double five_sigma = 5 / std::sqrt(kCount);
  EXPECT_NEAR(sum / kCount, 0, five_sigma);
  EXPECT_NEAR(squares / kCount, 1, five_sigma);
  EXPECT_NEAR(neighbors / kCount, 0, five_sigma);
  EXPECT_NEAR(rows / kCount, 0, five_sigma);
}

TEST(HyperplaneData, LeavesOnlyNoiseAtTheKnownOptimum) {
  const Hyperplane plane(2);
  constexpr int kRows = 4000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kRows; ++i) {
    const Row sample = row(plane, Hyperplane::kTrain - kRows / 2 + i);
    const double fit = std::inner_product(sample.inputs.begin(), sample.inputs.end(),
                                          plane.coefficients().begin(), double(plane.bias()));
    sum += sample.target - fit;
    squares += (sample.target - fit) * (sample.target - fit);
  }
  const double variance = Hyperplane::kNoise * Hyperplane::kNoise;
  EXPECT_NEAR(sum / kRows, 0, 5 * Hyperplane::kNoise / std::sqrt(kRows));
  EXPECT_NEAR(squares / kRows, variance, 0.1 * variance);
  double norm = 0;
  for (const float a : plane.coefficients()) norm += double(a) * a;
  EXPECT_NEAR(norm, 1, 0.1) << "the variance of a·x";
}

TEST(VideoData, HasTheLengthsOfUcf101) {
  for (const std::uint64_t seed : {1, 2, 77}) {
    const Videos videos(seed);
    for (const auto& [begin, count] :
         {std::pair{std::int64_t{0}, Videos::kTrain}, std::pair{Videos::kTrain, Videos::kTest}}) {
      double sum = 0, squares = 0;
      int shortest = 1 << 30, longest = 0;
      for (std::int64_t i = begin; i < begin + count; ++i) {
        const int frames = videos.frames(i);
        sum += frames;
        squares += double(frames) * frames;
        shortest = std::min(shortest, frames);
        longest = std::max(longest, frames);
      }
      const double mean = sum / double(count);
      EXPECT_NEAR(mean, 187, 0.02 * 187);
      EXPECT_NEAR(std::sqrt(squares / double(count) - mean * mean), 97, 0.02 * 97);
      EXPECT_EQ(shortest, 29);
      EXPECT_LE(longest, 1776);
      EXPECT_GT(longest, 1400);
    }
  }
}

TEST(VideoData, DependsOnSeedAndNumberAlone) {
  const Videos videos(3), same(3), other(4);
  video(same, 17);
  EXPECT_EQ(videos.frames(5), same.frames(5));
  EXPECT_EQ(video(videos, 5), video(same, 5));
  EXPECT_NE(video(videos, 5), video(other, 5));
  EXPECT_NE(video(videos, 5), video(videos, Videos::kTrain + 5));
}

TEST(VideoData, HasEveryClassAboutEquallyOften) {
  const Videos videos(1);
  std::array<int, Videos::kClasses> counts{};
  for (std::int64_t i = 0; i < Videos::kTrain; ++i) ++counts.at(std::size_t(videos.label(i)));
  constexpr double kMean = double(Videos::kTrain) / Videos::kClasses;
  for (const int count : counts) EXPECT_NEAR(count, kMean, 5 * std::sqrt(kMean));
}

/// The mean features of the first and of the last clip of all videos of a class.
std::pair<std::vector<double>, std::vector<double>> ends(const Videos& videos, int label) {
  std::vector<double> first(Videos::kFeatures), last(Videos::kFeatures);
  int count = 0;
  for (std::int64_t i = 0; i < Videos::kTrain + Videos::kTest; ++i) {
    if (videos.label(i) != label) continue;
    const auto values = video(videos, i);
    for (int k = 0; k < Videos::kFeatures; ++k) {
      first[k] += values[k];
      last[k] += values[values.size() - Videos::kFeatures + k];
    }
    ++count;
  }
  for (int k = 0; k < Videos::kFeatures; ++k) first[k] /= count, last[k] /= count;
  return {first, last};
}

TEST(VideoData, TellsClassesApartByTheOrderOfTheirParts) {
  const Videos videos(1);
  // The classes 0 and 4 are the motions 0 then 1, and 1 then 0.
  const auto [there, then] = ends(videos, 0);
  const auto [back, last] = ends(videos, Videos::kMotions - 1);
  double apart = 0;
  for (int k = 0; k < Videos::kFeatures; ++k) {
    EXPECT_NEAR(there[k], last[k], 0.25);
    EXPECT_NEAR(then[k], back[k], 0.25);
    apart += std::abs(there[k] - then[k]);
  }
  EXPECT_GT(apart, 0.25 * Videos::kFeatures) << "the motions differ in half of the features by 0.6";
}

}  // namespace
}  // namespace syncopate::train

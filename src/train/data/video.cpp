#include "train/data/video.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "train/data/random.h"

namespace syncopate::train {
namespace {

// UCF101: 29 to 1,776 frames, mean 187, standard deviation 97. A log-logistic distribution with
// this median and shape has that mean and deviation, and a tail that ends about there, too.
constexpr double kMedian = 168.6;
constexpr double kShape = 4.02;
constexpr int kShortest = 29;
constexpr int kLongest = 1776;

// How far a motion stands out of the noise, whose deviation is 1, in each feature.
constexpr float kStrength = 0.3F;

// Streams of the seed; the others are video numbers.
constexpr std::uint64_t kMotionStream = ~0ULL;
constexpr std::uint64_t kOrderStream = ~1ULL;

/// One length from each of `count` equal parts of the distribution, in an order drawn from the
/// seed: the mean and the deviation are the same for every seed.
void append_lengths(std::vector<int>& lengths, std::int64_t count, std::uint64_t seed) {
  const auto begin = std::ptrdiff_t(lengths.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = (double(i) + 0.5) / double(count);
    const double frames = kMedian * std::pow(share / (1 - share), 1 / kShape);
    lengths.push_back(std::clamp(int(std::lround(frames)), kShortest, kLongest));
  }
  for (std::int64_t i = count - 1; i > 0; --i) {
    std::swap(lengths[begin + i], lengths[begin + below(int(i) + 1, mix(seed, kOrderStream, i))]);
  }
}

}  // namespace

Videos::Videos(std::uint64_t seed) : seed_(seed) {
  append_lengths(frames_, kTrain, seed);
  append_lengths(frames_, kTest, seed + 1);
  for (int i = 0; i < kFeatures; ++i) {
    const bool flipped = mix(seed, kMotionStream, i) >> 63;
    for (int motion = 0; motion < kMotions; ++motion) {
      // Rows of a Walsh matrix: any two motions differ in half of the features, whatever the seed.
      const bool odd = std::popcount(unsigned(i & (motion + 1))) % 2 != 0;
      motions_[motion][i] = odd == flipped ? kStrength : -kStrength;
    }
  }
}

int Videos::label(std::int64_t number) const { return below(kClasses, mix(seed_, number)); }

void Videos::features(std::int64_t number, std::span<float> values) const {
  const int label = this->label(number);
  const int first = label / (kMotions - 1);
  const int other = label % (kMotions - 1);
  const int second = other + (other >= first ? 1 : 0);

  // The change comes somewhere in the middle third.
  const int length = clips(number);
  const int third = length / 3;
  const int change =
      std::clamp(third + below(length - 2 * third + 1, mix(seed_, number, 1)), 1, length - 1);
  const std::uint64_t noise = mix(seed_, number, 2);
  for (int clip = 0; clip < length; ++clip) {
    const auto& motion = motions_[clip < change ? first : second];
    for (int i = 0; i < kFeatures; ++i) {
      const int at = clip * kFeatures + i;
      values[at] = motion[i] + bell(mix(noise, at));
    }
  }
}

}  // namespace syncopate::train

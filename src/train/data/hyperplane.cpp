#include "train/data/hyperplane.h"

#include <array>
#include <numbers>
#include <numeric>

#include "train/data/random.h"

namespace syncopate::train {
namespace {

// Streams of the seed; the others are sample numbers.
constexpr std::uint64_t kCoefficients = ~0ULL;
constexpr std::uint64_t kBias = ~1ULL;

// So many xorshift generators run side by side in a sample: the compiler turns them into vectors.
constexpr int kLanes = 32;

}  // namespace

Hyperplane::Hyperplane(std::uint64_t seed)
    : seed_(seed), coefficients_(kInputs), bias_(bell(mix(seed, kBias))) {
  const float scale = 1 / std::sqrt(float(kInputs));
  for (int i = 0; i < kInputs; ++i) {
    coefficients_[i] = scale * bell(mix(seed, kCoefficients, i + 1));
  }
}

float Hyperplane::sample(std::int64_t number, std::span<float, kInputs> inputs) const {
  constexpr float kScale = std::numbers::sqrt3_v<float> / 2147483648.F;
  std::array<std::uint32_t, kLanes> state{};
  std::array<float, kLanes> sums{};
  for (int lane = 0; lane < kLanes; ++lane) {
    state[lane] = std::uint32_t(mix(seed_, number, lane + 1)) | 1U;  // xorshift stays at zero
  }
  const float* coefficient = coefficients_.data();
  float* input = inputs.data();
  for (int i = 0; i < kInputs; i += kLanes, coefficient += kLanes, input += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      std::uint32_t x = state[lane];
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
      state[lane] = x;
      input[lane] = float(std::int32_t(x)) * kScale;
      sums[lane] += coefficient[lane] * input[lane];
    }
  }
  return std::accumulate(sums.begin(), sums.end(), bias_) + kNoise * bell(mix(seed_, number));
}

}  // namespace syncopate::train

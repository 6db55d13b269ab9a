// The regression of the eager-SGD paper: y = a·x + b + noise, with 8,192 inputs. A sample is made
// from the seed and its number whenever it is asked for, so that nothing large is stored. The
// optimum is known: the weights a and the bias b, where the mean squared error is the noise's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syncopate::train {

class Hyperplane {
 public:
  static constexpr int kInputs = 8192;
  static constexpr std::int64_t kTrain = 32768;
  static constexpr std::int64_t kTest = 2048;
  static constexpr float kNoise = 0.1F;  ///< Standard deviation; that of a·x is 1.

  explicit Hyperplane(std::uint64_t seed);

  /// Fills the inputs, which are uniform with mean 0 and variance 1, and returns y. The test
  /// samples are those from kTrain on.
  float sample(std::int64_t number, std::span<float, kInputs> inputs) const;

  std::span<const float> coefficients() const { return coefficients_; }
  float bias() const { return bias_; }

 private:
  std::uint64_t seed_;
  std::vector<float> coefficients_;
  float bias_;
};

}  // namespace syncopate::train

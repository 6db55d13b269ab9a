// Generated videos with the lengths of UCF101 and a class that only their course gives away.
// A class is an ordered pair of motions: the video shows the one and then the other, so that no
// part of it is enough, and neither is their mixture. Each clip of 16 frames has a vector of
// features in which the motion is hidden in noise: it takes many clips to see it. A video is made
// from the seed and its number whenever it is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace syncopate::train {

class Videos {
 public:
  static constexpr std::int64_t kTrain = 9537;  ///< As in the first split of UCF101.
  static constexpr std::int64_t kTest = 3783;
  static constexpr int kFeatures = 16;
  static constexpr int kClipFrames = 16;
  static constexpr int kMotions = 5;
  static constexpr int kClasses = kMotions * (kMotions - 1);

  explicit Videos(std::uint64_t seed);

  // The test videos are those from kTrain on.
  int frames(std::int64_t number) const { return frames_[number]; }
  int clips(std::int64_t number) const { return (frames(number) + kClipFrames - 1) / kClipFrames; }
  int label(std::int64_t number) const;
  /// Fills clips(number) * kFeatures values, clip after clip.
  void features(std::int64_t number, std::span<float> values) const;

 private:
  std::uint64_t seed_;
  std::vector<int> frames_;
  std::array<std::array<float, kFeatures>, kMotions> motions_{};
};

}  // namespace syncopate::train

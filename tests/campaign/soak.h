// A soak: hours of one job with several collectives, and of a training with checkpoints in turn,
// with stops and kills. Memory, descriptors, threads and rounds are sampled into a file of JSON
// lines; a trend in them, a round that never comes or a broken promise fails it.
#pragma once

#include <cstdint>
#include <string>

namespace syncopate::campaign {

struct SoakSettings {
  double seconds = 600;
  std::string samples;  ///< Where the samples go.
  std::string result;   ///< Where the verdict goes.
  std::string command;  ///< How it was called, for the verdict.
  std::uint64_t seed = 0;
};

/// Returns the exit code: 1 if it has failed.
int soak(const SoakSettings& settings);

}  // namespace syncopate::campaign

// A campaign: the kept seeds, the fixed ones and fresh ones, until its time is over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace syncopate::campaign {

struct Settings {
  std::string kind = "all";  ///< run, openmpi, mpich, training or all
  double seconds = 60;
  std::uint64_t fixed = 0;  ///< The seeds 1 to this are played in any case.
  std::optional<std::uint64_t> seed;
  int times = 1;
};

/// Returns the exit code: 1 if a life has failed.
int play_campaign(const Settings& settings);

}  // namespace syncopate::campaign

#include "explorer/seeds.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

namespace syncopate::testing {

std::uint64_t first_fresh_seed() {
  static const std::uint64_t first = [] {
    std::random_device device;
    // Far from the fixed ones, and far from where counting on would wrap.
    const std::uint64_t drawn = (std::uint64_t{device()} << 31 ^ device()) | std::uint64_t{1} << 40;
    std::printf("fresh seeds begin at %" PRIu64 "\n", drawn);
    std::fflush(stdout);
    return drawn;
  }();
  return first;
}

std::vector<std::string> kept_seeds(const std::string& explorer) {
  std::vector<std::string> found;
  std::ifstream file(SYNCOPATE_EXPLORER_SEEDS);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, seed;
    if (words >> name >> seed && name == explorer) found.push_back(seed);
  }
  return found;
}

void keep_seed(const std::string& explorer, const std::string& seed) {
  const std::vector<std::string> kept = kept_seeds(explorer);
  if (std::find(kept.begin(), kept.end(), seed) != kept.end()) return;
  std::ofstream file(SYNCOPATE_EXPLORER_SEEDS, std::ios::app);
  file << explorer << ' ' << seed << '\n';
  file.flush();
  std::printf(file ? "kept in %s: commit it with the mend\n" : "%s cannot be written\n",
              SYNCOPATE_EXPLORER_SEEDS);
}

}  // namespace syncopate::testing

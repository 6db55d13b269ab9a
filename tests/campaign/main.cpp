// Random lives of jobs, one after another, for as long as one likes. Each is all in its seed; one
// that breaks a promise prints its seed and its plan, and is kept in the file `seeds`.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "campaign/campaign.h"
#include "campaign/rank.h"
#include "campaign/soak.h"

namespace syncopate::campaign {
namespace {

constexpr const char* kUsage =
    "Usage: campaign [--kind all|run|openmpi|mpich|training] [--seconds S] [--lives N] [--seed S "
    "[--times N]]\n"
    "  Plays the kept seeds of the kind, the fixed seeds 1 to N, and fresh ones until the seconds "
    "have\n"
    "  passed. --seed plays one life, --times times. The timing of processes is not in a seed: one "
    "that\n"
    "  failed may need some times to fail again.\n"
    "Usage: campaign --soak SECONDS SAMPLES [RESULT]\n"
    "  One job for so long, sampled to the file SAMPLES (JSON lines); the verdict goes to "
    "RESULT.\n";

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

std::optional<Settings> read(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (i + 1 == count) return std::nullopt;
    const char* value = words[++i];
    if (word == "--kind") {
      settings.kind = value;
    } else if (word == "--seconds") {
      settings.seconds = std::strtod(value, nullptr);
    } else if (word == "--lives") {
      settings.fixed = number(value);
    } else if (word == "--seed") {
      settings.seed = number(value);
    } else if (word == "--times") {
      settings.times = int(number(value));
    } else {
      return std::nullopt;
    }
  }
  return settings;
}

int run(int count, char** words) {
  if (count == 3 && std::strcmp(words[1], "--rank") == 0) return play_rank(words[2]);
  if (count >= 4 && std::strcmp(words[1], "--soak") == 0) {
    const char* made_by = std::getenv("SOAK_COMMAND");
    const char* seed = std::getenv("SYNCOPATE_SEED");
    return soak({.seconds = std::strtod(words[2], nullptr),
                 .samples = words[3],
                 .result = count > 4 ? words[4] : "",
                 .command = made_by != nullptr ? made_by : "campaign --soak",
                 .seed = seed != nullptr ? number(seed) : std::random_device()()});
  }
  const std::optional<Settings> settings = read(count, words);
  if (!settings) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return play_campaign(*settings);
}

}  // namespace
}  // namespace syncopate::campaign

int main(int count, char** words) {
  try {
    return syncopate::campaign::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "campaign: %s\n", error.what());
    return 2;
  }
}

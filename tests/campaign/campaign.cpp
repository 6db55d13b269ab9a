#include "campaign/campaign.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "campaign/job.h"
#include "campaign/training.h"
#include "round/trigger.h"

namespace syncopate::campaign {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostFailures = 3;
constexpr auto kBetweenLines = std::chrono::seconds(10);

constexpr Launcher kLaunchers[] = {Launcher::run, Launcher::openmpi, Launcher::mpich};

/// A kind of life and a seed, as a line of the file `seeds` has them.
struct Lot {
  std::string kind;
  std::uint64_t seed = 0;
};

bool is_file(const char* path) { return *path != 0 && std::filesystem::exists(path); }

/// In a campaign of all kinds a seed has one of those that this build can play.
std::string kind_of(std::uint64_t seed) {
  const std::uint64_t place = round::mix(seed, 0) % 10;
  if (place == 0 && is_file(SYNCOPATE_OPENMPI_RUN)) return "openmpi";
  if (place == 1 && is_file(SYNCOPATE_MPICH_RUN)) return "mpich";
  if (place == 2 && is_file(SYNCOPATE_TRAIN_PATH)) return "training";
  return "run";
}

class Campaign {
 public:
  explicit Campaign(const Settings& settings) : settings_(settings) {}

  int play() {
    if (settings_.seed) {
      const Lot lot = lot_of(*settings_.seed);
      for (int i = 0; i < settings_.times && failures_ == 0; ++i) play(lot, false);
      return end();
    }
    for (const Lot& lot : kept()) play(lot, false);
    for (std::uint64_t seed = 1; seed <= settings_.fixed && going(); ++seed) {
      play(lot_of(seed), false);
    }
    std::random_device device;
    const std::uint64_t first = (std::uint64_t{device()} << 31 ^ device()) | std::uint64_t{1} << 40;
    std::printf("fresh seeds begin at %" PRIu64 "\n", first);
    for (std::uint64_t seed = first; going() && elapsed() < settings_.seconds; ++seed) {
      play(lot_of(seed), true);
    }
    return end();
  }

 private:
  bool going() const { return failures_ < kMostFailures; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  Lot lot_of(std::uint64_t seed) const {
    return {.kind = settings_.kind == "all" ? kind_of(seed) : settings_.kind, .seed = seed};
  }

  /// Plays a life: its plan, and what went wrong.
  std::pair<std::string, std::string> outcome(const Lot& lot) {
    if (lot.kind == "training") {
      const TrainingLife life = TrainingLife::draw(lot.seed);
      return {life.text(), play_training(life, tally_)};
    }
    for (const Launcher one : kLaunchers) {
      if (lot.kind != to_string(one)) continue;
      const Life life = Life::draw(lot.seed, one);
      return {life.text(), Job(life).play(tally_)};
    }
    throw std::runtime_error("no kind of life is called " + lot.kind);
  }

  void play(const Lot& lot, bool fresh) {
    std::fflush(stdout);
    const int before = descriptors();
    auto [plan, problems] = outcome(lot);
    if (settings_.seed) std::printf("%s", plan.c_str());
    if (descriptors() != before) problems += "  the driver has lost a descriptor\n";
    if (!problems.empty()) {
      ++failures_;
      std::printf("FAILED: %s%s  play it again: campaign --kind %s --seed %" PRIu64 " --times 20\n",
                  plan.c_str(), problems.c_str(), lot.kind.c_str(), lot.seed);
      if (fresh) keep(lot);
    }
    if (Clock::now() - last_line_ > kBetweenLines) {
      last_line_ = Clock::now();
      std::printf("%6.0f s: %s\n", elapsed(), tally_.text().c_str());
      std::fflush(stdout);
    }
  }

  static int descriptors() {
    const std::filesystem::directory_iterator entry("/proc/self/fd");
    return int(std::distance(entry, std::filesystem::directory_iterator()));
  }

  std::vector<Lot> kept() const {
    std::vector<Lot> lots;
    std::ifstream file(SYNCOPATE_CAMPAIGN_SEEDS);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      Lot lot;
      if (!(words >> lot.kind >> lot.seed)) continue;
      if (settings_.kind == "all" || settings_.kind == lot.kind) lots.push_back(lot);
    }
    return lots;
  }

  static void keep(const Lot& lot) {
    std::ofstream file(SYNCOPATE_CAMPAIGN_SEEDS, std::ios::app);
    file << lot.kind << ' ' << lot.seed << '\n';
    file.flush();
    std::printf(file ? "  kept in %s: commit it with the mend\n" : "  %s cannot be written\n",
                SYNCOPATE_CAMPAIGN_SEEDS);
  }

  int end() const {
    std::printf("%s: %s in %.0f s\n", failures_ == 0 ? "passed" : "FAILED", tally_.text().c_str(),
                elapsed());
    return failures_ == 0 ? 0 : 1;
  }

  const Settings& settings_;
  Tally tally_;
  int failures_ = 0;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_line_ = began_;
};

}  // namespace

int play_campaign(const Settings& settings) { return Campaign(settings).play(); }

}  // namespace syncopate::campaign

// Plays scenario files in real time, by the ranks that mpirun started, and says what they did not
// keep:   mpirun -n 3 real_scenario_test FILE…
// Those for other numbers of ranks are for other jobs. Which it leaves out, and why, it says.
//
// A machine with more to do than it can keeps no clock. So what depends on who comes first is given
// another chance with a slower clock; what every scenario promises is not.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "fabric/job_environment.h"
#include "scenarios/judge.h"
#include "scenarios/lateness.h"
#include "scenarios/real_player.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

/// No job of tests/fabric/CMakeLists.txt has more.
constexpr int kMostRanks = 8;
/// How late a rank may be in real time, at the first try.
constexpr Moment kLateness = 10ms;
/// The longest that the first try may take, and any.
constexpr Moment kLongest = 5s;
constexpr Moment kLongestAgain = 20s;

constexpr double kLeftOut = 0;
constexpr double kBroken = -1;  // It does not even hold on the board.

enum class Verdict : std::uint8_t { passed, again, failed };

struct Play {
  std::string name;
  Scenario scenario;
  std::optional<Tolerant> tolerant;  ///< Only rank 0, which judges, knows.
  double stretch = kLeftOut;
};

Scenario read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(path + " cannot be read");
  return Scenario::parse(text.str());
}

/// Finds out how to play it; returns why not.
std::string plan(Play& play) {
  if (std::string reason = why_not_in_real_time(play.scenario); !reason.empty()) return reason;
  play.tolerant = allow_lateness(for_other_back_ends(play.scenario));
  const double stretch = std::chrono::duration<double>(kLateness) / play.tolerant->lateness;
  const auto takes = play.tolerant->end * stretch;
  if (takes > kLongest) return "it takes " + std::to_string(std::llround(takes / 1s)) + " s";
  play.stretch = stretch;
  return "";
}

void prepare(Play& play) {
  std::string reason;
  try {
    reason = plan(play);
  } catch (const std::exception& error) {
    reason = error.what();
    play.stretch = kBroken;
  }
  if (!reason.empty()) std::printf("%s is left out: %s\n", play.name.c_str(), reason.c_str());
}

Verdict judge(const Play& play, const Record& record, bool last_try) {
  const auto tell = [&](const std::vector<std::string>& complaints) {
    for (const std::string& complaint : complaints) {
      std::printf("%s: %s\n", play.name.c_str(), complaint.c_str());
    }
  };
  const Tolerant& tolerant = *play.tolerant;
  const auto broken = judge(without_expectations(tolerant.scenario), record, tolerant.slack);
  const auto complaints = judge(tolerant.scenario, record, tolerant.slack);
  tell(complaints);
  if (complaints.empty()) return Verdict::passed;
  return last_try || !broken.empty() ? Verdict::failed : Verdict::again;
}

bool passes(const Play& play, World& world) {
  Verdict verdict = Verdict::again;
  double stretch = play.stretch;
  for (; verdict == Verdict::again; stretch *= 2) {
    const Record record = bring_together(world, play_in_real_time(play.scenario, world, stretch));
    if (world.rank() == 0) {
      verdict = judge(play, record, play.tolerant->end * stretch * 2 > kLongestAgain);
      std::printf("%s: %d of %d expectations, %.0f ms x %g, %s\n", play.name.c_str(),
                  play.tolerant->kept, play.tolerant->expected,
                  std::chrono::duration<double, std::milli>(record.end).count(), stretch,
                  std::array{"passed", "once more", "failed"}[static_cast<int>(verdict)]);
      std::fflush(nullptr);
    }
    verdict = told_by(0, verdict, world);
  }
  return verdict == Verdict::passed;
}

bool all_pass(const std::vector<std::string>& paths) {
  const auto launcher = fabric::launcher_from_environment();
  const int ranks = launcher ? launcher->ranks : 1;
  const int rank = launcher ? launcher->rank : 0;
  std::vector<Play> plays;
  for (const std::string& path : paths) {
    Play play{.name = path.substr(path.rfind('/') + 1), .scenario = read(path)};
    if (rank == 0 && play.scenario.ranks > kMostRanks) {
      std::printf("%s is left out: it has %d ranks\n", play.name.c_str(), play.scenario.ranks);
    }
    if (play.scenario.ranks == ranks) plays.push_back(std::move(play));
  }
  // Before there is a world: its agent must not meet the board's player.
  if (rank == 0) std::for_each(plays.begin(), plays.end(), prepare);
  World world = World::from_environment();
  bool passed = true;
  int played = 0;
  for (Play& play : plays) {
    play.stretch = told_by(0, play.stretch, world);
    if (play.stretch == kLeftOut) continue;
    passed &= play.stretch != kBroken && passes(play, world);
    ++played;
  }
  if (rank == 0) std::printf("%d of %zu scenarios played\n", played, plays.size());
  return passed && played > 0;
}

}  // namespace
}  // namespace syncopate::testing

int main(int count, char** arguments) {
  try {
    return syncopate::testing::all_pass({arguments + 1, arguments + count}) ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);  // The others may wait for this rank in vain; mpirun ends them.
  }
}

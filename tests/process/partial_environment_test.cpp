// What World::from_environment() makes of the launcher's variables when they are wrong. Each
// case runs in a process of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/processes.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

struct WrongVariable {
  const char* name;
  const char* variable;
  const char* value;  ///< Null: unset.
  std::vector<std::string> words;
};

constexpr ErrorCode kEnvironment = ErrorCode::environment;

class Environment : public ::testing::TestWithParam<WrongVariable> {};

void expect_usable(World& world) {
  PartialAllreduce<float> rounds(world, 1, {.trigger = all(), .scale = Scale::none});
  const std::vector<float> one{1.0F};
  EXPECT_EQ(rounds.exchange(one).front().sum()[0], static_cast<float>(world.size()));
}

void expect_all_well(Processes& processes) {
  for (const Ending& ending : processes.wait()) {
    EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
  }
}

TEST_P(Environment, ThatIsWrongIsRefusedAndTheSeatStaysFree) {
  const WrongVariable& wrong = GetParam();
  Processes processes(2, [&](int rank) {
    if (rank == 1) {
      const char* before = std::getenv(wrong.variable);
      const std::string right = before == nullptr ? "" : before;
      if (wrong.value == nullptr) {
        unsetenv(wrong.variable);
      } else {
        setenv(wrong.variable, wrong.value, 1);
      }
      expect_refused(kEnvironment, wrong.words, [] { World::from_environment(); });
      if (before == nullptr) {
        unsetenv(wrong.variable);
      } else {
        setenv(wrong.variable, right.c_str(), 1);
      }
    }
    World world = World::from_environment();
    expect_usable(world);
  });
  expect_all_well(processes);
}

const WrongVariable kWrong[] = {
    {"RankMissing", "SYNCOPATE_RANK", nullptr, {"SYNCOPATE_RANK", "only some are set"}},
    {"RanksMissing", "SYNCOPATE_RANKS", nullptr, {"SYNCOPATE_RANKS", "only some are set"}},
    {"BoardMissing", "SYNCOPATE_BOARD", nullptr, {"SYNCOPATE_BOARD", "only some are set"}},
    {"RankEmpty", "SYNCOPATE_RANK", "", {"SYNCOPATE_RANK is \"\"", "from 0 to 1"}},
    {"RankNotANumber", "SYNCOPATE_RANK", "one", {"SYNCOPATE_RANK is \"one\"", "from 0 to 1"}},
    {"RankWithATail", "SYNCOPATE_RANK", "1 ", {"SYNCOPATE_RANK is \"1 \"", "from 0 to 1"}},
    {"RankNegative", "SYNCOPATE_RANK", "-1", {"SYNCOPATE_RANK is \"-1\"", "from 0 to 1"}},
    {"RankTooLarge", "SYNCOPATE_RANK", "2", {"SYNCOPATE_RANK is \"2\"", "from 0 to 1"}},
    {"RankOverflows", "SYNCOPATE_RANK", "4294967297", {"SYNCOPATE_RANK", "from 0 to 1"}},
    {"RanksZero", "SYNCOPATE_RANKS", "0", {"SYNCOPATE_RANKS is \"0\"", "from 1 to 1024"}},
    {"RanksTooMany", "SYNCOPATE_RANKS", "1025", {"SYNCOPATE_RANKS", "from 1 to 1024"}},
    {"RanksNotANumber", "SYNCOPATE_RANKS", "x", {"SYNCOPATE_RANKS is \"x\"", "from 1"}},
    {"RanksNotTheBoards", "SYNCOPATE_RANKS", "3", {"SYNCOPATE_RANKS is 3", "2 seats"}},
    {"BoardNowhere", "SYNCOPATE_BOARD", "/nowhere/board", {"/nowhere/board", "No such file"}},
    {"BoardEmptyPath", "SYNCOPATE_BOARD", "", {"cannot open"}},
    {"BoardADevice", "SYNCOPATE_BOARD", "/dev/null", {"/dev/null", "not a board"}},
    {"BoardAFolder", "SYNCOPATE_BOARD", "/proc", {"/proc"}},
    {"BoardAProgram", "SYNCOPATE_BOARD", "/proc/self/exe", {"/proc/self/exe"}},
    {"TimeoutZero", "SYNCOPATE_TIMEOUT", "0", {"SYNCOPATE_TIMEOUT is \"0\"", "above 0"}},
    {"TimeoutNegative", "SYNCOPATE_TIMEOUT", "-3", {"SYNCOPATE_TIMEOUT is \"-3\"", "above 0"}},
    {"TimeoutNotANumber", "SYNCOPATE_TIMEOUT", "soon", {"\"soon\"", "seconds above 0"}},
    {"TimeoutNan", "SYNCOPATE_TIMEOUT", "nan", {"\"nan\"", "seconds above 0"}},
    {"TimeoutEmpty", "SYNCOPATE_TIMEOUT", "", {"SYNCOPATE_TIMEOUT is \"\"", "above 0"}},
    {"TimeoutWithUnit", "SYNCOPATE_TIMEOUT", "5s", {"\"5s\"", "seconds above 0"}},
};

INSTANTIATE_TEST_SUITE_P(, Environment, ::testing::ValuesIn(kWrong),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Seat, ThatIsTakenIsRefusedToASecondProcess) {
  Processes processes(2, [](int rank) {
    World world = World::from_environment();
    world.barrier();
    setenv("SYNCOPATE_RANK", rank == 0 ? "1" : "0", 1);
    expect_refused(kEnvironment, {rank == 0 ? "rank 1" : "rank 0", "already taken by process"},
                   [] { World::from_environment(); });
    world.barrier();
    expect_usable(world);
  });
  expect_all_well(processes);
}

TEST(Variables, WithATimeoutIsHeeded) {
  Processes processes(2, [](int rank) {
    setenv("SYNCOPATE_TIMEOUT", rank == 0 ? "2.5" : "1e300", 1);
    World world = World::from_environment();
    if (rank == 0) {
      EXPECT_EQ(world.timeout(), std::chrono::milliseconds(2500));
    } else {
      EXPECT_GT(world.timeout(), std::chrono::hours(24 * 365));
    }
    expect_usable(world);
  });
  expect_all_well(processes);
}

TEST(Variables, WithABoardThatIsSomeOtherFileIsRefused) {
  const auto folder = std::filesystem::temp_directory_path();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 22}) {
    const std::string path = (folder / ("not-a-board-" + std::to_string(getpid()))).string();
    std::ofstream(path) << std::string(bytes, 'x');
    Processes processes(1, [&](int) {
      setenv("SYNCOPATE_BOARD", path.c_str(), 1);
      expect_refused(kEnvironment, {path, "not a board"}, [] { World::from_environment(); });
    });
    expect_all_well(processes);
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace syncopate::testing

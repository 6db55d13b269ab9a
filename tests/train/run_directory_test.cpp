// What is left of an earlier part in a run directory when the run goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "syncopate/error.h"
#include "train/metrics.h"
#include "train/result.h"
#include "train/temporary_folder.h"
#include "train/training_job.h"

namespace syncopate::testing {
namespace {

namespace fs = std::filesystem;

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

constexpr const char* kZeroAtOne = R"({"rank":0,"round":1,"arrived_s":1.000000,"loss":2})";
constexpr const char* kZeroAtThree = R"({"rank":0,"round":3,"arrived_s":3.000000,"loss":null})";
constexpr const char* kOneAtTwo = R"({"rank":1,"round":2,"arrived_s":2.000000,"loss":1})";
constexpr const char* kFiveAtTwo = R"({"rank":5,"round":2,"arrived_s":2.000000,"loss":1})";

/// What is kept of these lines, by the clocks of a checkpoint.
std::string cut(const std::string& lines, const std::map<int, double>& clocks) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  write(file, lines);
  train::cut_metrics(file, clocks);
  return text_of(file);
}

std::string lines(std::initializer_list<const char*> each) {
  std::string all;
  for (const char* line : each) all += std::string(line) + "\n";
  return all;
}

TEST(CutMetrics, LeavesOutWhatEachRankWroteAfterItsClock) {
  EXPECT_EQ(cut(lines({kZeroAtOne, kOneAtTwo, kZeroAtThree}), {{0, 2.5}, {1, 1.5}}),
            lines({kZeroAtOne}));
  EXPECT_EQ(cut(lines({kZeroAtOne, kOneAtTwo, kZeroAtThree}), {{0, 2.5}, {1, 2.5}}),
            lines({kZeroAtOne, kOneAtTwo}));
}

TEST(CutMetrics, TakesTheLatestClockForARankThatHasNone) {
  EXPECT_EQ(cut(lines({kFiveAtTwo}), {{0, 2.5}, {1, 1.5}}), lines({kFiveAtTwo}));
  EXPECT_EQ(cut(lines({kFiveAtTwo}), {{0, 1.5}, {1, 0.5}}), "");
}

TEST(CutMetrics, KeepsEverythingWithoutACheckpoint) {
  EXPECT_EQ(cut(lines({kZeroAtOne}), {}), lines({kZeroAtOne}));
}

TEST(CutMetrics, LeavesOutWhatIsNoLineOfOurs) {
  const std::map<int, double> clocks{{0, 9}};
  EXPECT_EQ(cut(R"({"rank":1e300,"arrived_s":nan})"
                "\n",
                clocks),
            "");
  EXPECT_EQ(cut(R"({"rank":99999999999999999999,"arrived_s":1e999})"
                "\n",
                clocks),
            "");
  EXPECT_EQ(cut(std::string(1 << 20, '{') + kZeroAtOne, clocks), lines({kZeroAtOne}));
  EXPECT_EQ(cut(std::string("{\"rank\":0,\"arrived_s\":1,\"x\":\"") + std::string(1 << 20, 'x') +
                    "\"}\n" + lines({kZeroAtOne}),
                clocks),
            lines({kZeroAtOne}));
}

TEST(CutMetrics, LeavesOutWhatAWriterThatWasKilledDidNotFinish) {
  const std::string torn = R"({"rank":1,"round":2,"arri)";
  EXPECT_EQ(cut(lines({kZeroAtOne}) + torn, {{0, 9}, {1, 9}}), lines({kZeroAtOne}));
  EXPECT_EQ(cut(torn + lines({kZeroAtOne}), {{0, 9}, {1, 9}}), lines({kZeroAtOne}))
      << "another rank wrote after it";
}

/// What a run directory with these results has after it was reopened: result, earlier result.
std::pair<std::string, std::string> reopen(const std::string& result, const std::string& earlier) {
  const TemporaryFolder folder;
  write(folder.path() / train::kResultFile, result);
  write(folder.path() / train::kEarlierResultFile, earlier);
  train::reopen_run(folder.path(), train::Config{});
  return {text_of(folder.path() / train::kResultFile),
          text_of(folder.path() / train::kEarlierResultFile)};
}

std::string result_of(double rounds, bool diverged) {
  train::Result result;
  result.rounds = rounds;
  result.diverged = diverged;
  return nlohmann::json(result).dump();
}

TEST(ReopenedRun, GoesOnFromTheLastResult) {
  EXPECT_EQ(reopen(result_of(2, false), result_of(1, false)),
            std::pair(std::string(), result_of(2, false)));
}

TEST(ReopenedRun, DoesNotGoOnFromAPartThatDiverged) {
  EXPECT_EQ(reopen(result_of(2, true), result_of(1, false)),
            std::pair(std::string(), result_of(1, false)));
}

TEST(ReopenedRun, RefusesToGoOnBesideAResultThatStays) {
  const TemporaryFolder folder;
  write(folder.path() / train::kResultFile, "{}");
  fs::create_directories(folder.path() / train::kEarlierResultFile / "in the way");
  EXPECT_THROW(train::reopen_run(folder.path(), train::Config{}), Error);
}

train::Config some_config() { return {.workload = "hyperplane", .strategy = "sync"}; }

TEST(NewRun, IsTheLatest) {
  const TemporaryFolder folder;
  const fs::path runs = folder.path() / "more" / "runs";
  for (int i = 0; i < 2; ++i) {
    const train::NewRun made = train::make_run(some_config(), runs);
    EXPECT_EQ(made.warning, "");
    EXPECT_EQ(fs::read_symlink(runs / "latest"), made.directory.filename());
    EXPECT_FALSE(fs::exists(fs::symlink_status(made.directory / "latest")));
  }
}

TEST(NewRun, SaysSoIfTheLatestCannotBeReplaced) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "latest" / "of a user");
  const train::NewRun made = train::make_run(some_config(), folder.path());
  EXPECT_NE(made.warning.find("latest could not be made to name this run"), std::string::npos);
  EXPECT_NE(made.warning.find(made.directory.string()), std::string::npos);
  EXPECT_FALSE(fs::exists(fs::symlink_status(made.directory / "latest"))) << "nothing is left";
  EXPECT_TRUE(fs::exists(made.directory / "config.json"));
}

TEST(RunLock, NamesTheJobThatHoldsIt) {
  const TemporaryFolder folder;
  const train::RunLock first(folder.path());
  try {
    const train::RunLock second(folder.path());
    FAIL() << "two jobs in one directory";
  } catch (const Error& error) {
    EXPECT_NE(error.what_happened().find(fmt::format("process {} on ", ::getpid())),
              std::string::npos)
        << error.what_happened();
  }
}

mode_t mode_of(const fs::path& file) { return mode_t(fs::status(file).permissions()) & 0777; }

TEST(RunLock, CannotBeHeldByThoseWhoMayOnlyRead) {
  const mode_t before = ::umask(0);
  for (const auto& [directory, lock] :
       std::initializer_list<std::pair<mode_t, mode_t>>{{0755, 0600}, {0775, 0660}, {0777, 0666}}) {
    const TemporaryFolder folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), directory), 0);
    write(folder.path() / "lock", "");  // As earlier versions made it.
    ASSERT_EQ(::chmod((folder.path() / "lock").c_str(), 0644), 0);
    const train::RunLock held(folder.path());
    EXPECT_EQ(mode_of(folder.path() / "lock"), lock);
  }
  ::umask(before);
}

TEST(RunLock, IsHeldUntilTheRanksOfAKilledJobAreGone) {
  const TemporaryFolder folder;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t rank = [&] {
    const train::RunLock job(folder.path());
    const pid_t process = ::fork();
    if (process == 0) {
      ::close(pipe[1]);
      char nothing = 0;
      ::_exit(int(::read(pipe[0], &nothing, 1)));
    }
    return process;
  }();
  EXPECT_THROW(train::RunLock{folder.path()}, Error);
  ::close(pipe[1]);
  ::waitpid(rank, nullptr, 0);
  EXPECT_NO_THROW(train::RunLock{folder.path()});
  ::close(pipe[0]);
}

TEST(RunLock, SaysWhyItCannotBeTaken) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "lock");
  EXPECT_THROW(train::RunLock{folder.path()}, Error);
}

}  // namespace
}  // namespace syncopate::testing

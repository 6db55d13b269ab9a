// The launcher as the other commands use it: from inside, several jobs one after the other.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "launch/launcher.h"
#include "launch/report.h"
#include "syncopate/error.h"

namespace syncopate::launch {
namespace {

LaunchOptions shell(int ranks, const std::string& script) {
  LaunchOptions options;
  options.ranks = ranks;
  options.command = {"sh", "-c", script};
  options.output = Output::captured;
  return options;
}

TEST(LaunchLibrary, CapturesTheOutputOfEachRankUntouched) {
  const auto result = launch(shell(3, R"(printf "rank $SYNCOPATE_RANK\nof 3")"));
  EXPECT_EQ(result.exit_code, 0);
  ASSERT_EQ(result.ranks.size(), 3u);
  EXPECT_EQ(result.ranks[0].output, "rank 0\nof 3");
  EXPECT_EQ(result.ranks[2].output, "rank 2\nof 3");
}

TEST(LaunchLibrary, CapturesMoreThanAPipeHolds) {
  const auto result = launch(shell(2, "head -c 5000000 /dev/zero"));
  EXPECT_EQ(result.ranks[0].output.size(), 5000000u);
  EXPECT_EQ(result.ranks[1].output.size(), 5000000u);
}

TEST(LaunchLibrary, TellsHowEachRankEnded) {
  auto options = shell(3, "case $SYNCOPATE_RANK in 0) exit 0;; 1) exit 7;; 2) kill -9 $$;; esac");
  options.survive = true;
  const auto result = launch(options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.ranks[0].succeeded());
  EXPECT_EQ(result.ranks[1].description(), "exited with code 7");
  EXPECT_EQ(result.ranks[2].description(), "was killed by signal 9 (Killed)");
  EXPECT_EQ(result.ranks[2].code(), 128 + SIGKILL);
}

TEST(LaunchLibrary, AddsToTheEnvironmentAndReplacesWhatIsThere) {
  auto options = shell(1, "echo $HOME $EXTRA");
  options.environment = {{"EXTRA", "more"}, {"HOME", "elsewhere"}};
  EXPECT_EQ(launch(options).ranks[0].output, "elsewhere more\n");
}

TEST(LaunchLibrary, RanksStartWithTheSignalsOfTheirLauncher) {
  ::signal(SIGCHLD, SIG_IGN);
  auto options = shell(1, "");
  options.command = {"grep", "-E", "SigBlk|SigIgn", "/proc/self/status"};
  const auto result = launch(options);
  std::ifstream status("/proc/self/status");
  std::string own;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn")) own += line + "\n";
  }
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.ranks[0].output, own);
}

/// Threads that leave all signals open, as those of other libraries do.
class Bystanders {
 public:
  Bystanders() {
    for (std::jthread& thread : threads_) {
      thread = std::jthread([](const std::stop_token& stop) {
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
  }

 private:
  std::array<std::jthread, 4> threads_;
};

TEST(LaunchLibrary, HearsThatARankEndedWhicheverThreadIsTold) {
  const Bystanders bystanders;
  for (int i = 0; i < 20; ++i) {
    auto options = shell(4, "exit 0");
    options.timeout_seconds = 20;
    ASSERT_EQ(launch(options).exit_code, 0) << "job " << i;
  }
}

TEST(LaunchLibrary, IsInterruptedWhicheverThreadIsTold) {
  const Bystanders bystanders;
  auto options = shell(2, "trap 'exit 0' INT; kill -INT $CALLER; while :; do sleep 0.05; done");
  options.environment = {{"CALLER", std::to_string(::getpid())}};
  options.timeout_seconds = 20;
  EXPECT_EQ(launch(options).exit_code, 128 + SIGINT);
}

TEST(LaunchLibrary, LeavesTheChildrenOfItsCallerToTheirParent) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(3);
  EXPECT_EQ(launch(shell(2, "exit 0")).exit_code, 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(LaunchLibrary, ThrowsHereWhatGoesWrongInTheProcessOfTheJob) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tiny{.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  try {
    launch(shell(2, "exit 0"));
    ADD_FAILURE() << "there is no board";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(error.what_to_do().find("ulimit -f"), std::string::npos);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(LaunchReport, IsReadAsItWasWrittenOrNotAtAll) {
  LaunchResult result{.exit_code = 7, .ranks = std::vector<RankOutcome>(3)};
  result.ranks[0].exit_code = 0;
  result.ranks[0].output = std::string("a\0b\n", 4);
  result.ranks[1].signal = SIGKILL;
  const std::string report = report_of([&] { return result; });
  const auto read = read_report(report);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->exit_code, 7);
  ASSERT_EQ(read->ranks.size(), 3u);
  EXPECT_EQ(read->ranks[0].output, result.ranks[0].output);
  EXPECT_EQ(read->ranks[1].signal, SIGKILL);
  EXPECT_EQ(read->ranks[2].description(), "was not started");
  for (std::size_t size = 0; size < report.size(); ++size)
    EXPECT_FALSE(read_report(std::string_view(report).substr(0, size))) << size;
}

TEST(LaunchLibrary, ThisProgramIsTheRunningExecutable) {
  auto options = shell(1, "");
  options.command = this_program({"--gtest_list_tests"});
  const auto result = launch(options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.ranks[0].output.find("LaunchLibrary."), std::string::npos);
}

TEST(LaunchLibrary, RefusesWhatIsOutOfRangeBeforeAnythingStarts) {
  const auto refused = [](auto change) {
    auto options = shell(1, "echo started");
    change(options);
    try {
      launch(options);
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused([](auto& options) { options.ranks = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.ranks = kMostRanks + 1; }));
  EXPECT_TRUE(refused([](auto& options) { options.command.clear(); }));
  EXPECT_TRUE(refused([](auto& options) { options.timeout_seconds = 0; }));
  EXPECT_TRUE(refused([](auto& options) {
    options.wait_timeout_seconds = std::numeric_limits<double>::quiet_NaN();
  }));
  EXPECT_TRUE(refused([](auto& options) { options.kill_after_seconds = -1; }));
}

}  // namespace
}  // namespace syncopate::launch

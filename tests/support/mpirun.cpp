#include "support/mpirun.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "fabric/job_environment.h"
#include "support/common.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 120s;

class EndOnFailure : public ::testing::EmptyTestEventListener {
 public:
  explicit EndOnFailure(int rank) : rank_(rank) {}

  void OnTestStart(const ::testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::printf("rank %d failed in %s: %s:%d\n%s\n", rank_, name_.c_str(), result.file_name(),
                result.line_number(), result.message());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }

 private:
  int rank_;
  std::string name_;
};

/// Where the processes wait for each other between tests, without any world.
class Lobby {
 public:
  void meet() {
    const int all = ++meetings_ * mpirun_ranks();
    ++*arrivals_;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (*arrivals_ < all) {
      std::this_thread::sleep_for(200us);
      if (std::chrono::steady_clock::now() > deadline) {
        FAIL() << *arrivals_ % mpirun_ranks() << " of " << mpirun_ranks() << " processes came";
      }
    }
  }

 private:
  Common<std::atomic<int>> arrivals_;
  int meetings_ = 0;
};

Lobby& lobby() {
  static Lobby the_lobby;
  return the_lobby;
}

std::optional<World> kept_world;

}  // namespace

int mpirun_ranks() {
  const auto launcher = fabric::launcher_from_environment();
  return launcher ? launcher->ranks : 1;
}

int mpirun_rank() {
  const auto launcher = fabric::launcher_from_environment();
  return launcher ? launcher->rank : 0;
}

void on_mpirun(int ranks, const std::function<void(World&)>& body) {
  if (ranks != mpirun_ranks()) GTEST_SKIP() << "for " << ranks << " ranks";
  const bool keep = std::getenv("SYNCOPATE_TEST_ONE_WORLD") != nullptr;
  lobby().meet();  // What the ranks share is there now, everywhere.
  try {
    std::optional<World> world = keep ? kept_world : std::nullopt;
    if (!world) world = World::from_environment();
    if (keep) kept_world = world;
    body(*world);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  lobby().meet();
}

void end_on_failure(int rank) {
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new EndOnFailure(rank));
}

int run_tests_under_mpirun(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  end_on_failure(mpirun_rank());
  lobby();
  const int result = RUN_ALL_TESTS();
  kept_world.reset();
  return result;
}

}  // namespace syncopate::testing

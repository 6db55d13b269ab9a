// Processes that others could take for dead though they live: they do not join without what the
// others know them by, and they hear of it when the launcher has given them up.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/processes.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

void expect_all_well(Processes& processes) {
  for (const Ending& ending : processes.wait(60s)) {
    EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
  }
}

/// Leaves room for so many more open files.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next + more);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Joining, WithoutADescriptorLeftIsRefusedAndTheSeatStaysFree) {
  Processes processes(3, [](int rank) {
    if (rank == 1) {
      const FewDescriptors few(1);  // For the board, and nothing else.
      expect_refused(ErrorCode::environment, {"/proc/self/stat", "ulimit -n"},
                     [] { World::from_environment(); });
    }
    World world = World::from_environment();
    world.set_timeout(30s);
    PartialAllreduce<double> rounds(world, 1, {.trigger = all(), .scale = Scale::none});
    double total = 0;
    for (int step = 0; step < 20; ++step) {
      const std::vector<double> one{1};
      for (const auto& round : rounds.exchange(one)) total += round.sum()[0];
    }
    rounds.finish([&](const Round<double>& round) { total += round.sum()[0]; });
    EXPECT_EQ(total, 60);
    EXPECT_TRUE(world.dead().empty());
  });
  expect_all_well(processes);
}

TEST(Joining, IsRefusedWhereTheLauncherHasGivenTheSeatUp) {
  Processes processes(2, [](int rank) {
    if (rank == 1) {
      raise(SIGSTOP);
      expect_refused(ErrorCode::rank_lost, {"the others take rank 1 for dead", "the launcher"},
                     [] { World::from_environment(); });
      return;
    }
    World world = World::from_environment();
    world.set_timeout(30s);
    world.barrier();
    EXPECT_EQ(world.dead().list(), std::vector<int>{1});
  });
  processes.on_stop = [&](int rank) {
    processes.meeting().gone(rank);
    processes.send(rank, SIGCONT);
  };
  expect_all_well(processes);
}

struct Wait {
  const char* name;
  std::function<void(World&)> call;
};

const Wait kWaits[] = {
    {"Exchange",
     [](World& world) {
       PartialAllreduce<float> rounds(world, 1, {.trigger = all()});
       std::puts("waits");
       std::fflush(stdout);
       rounds.exchange(std::vector<float>{1}).pass();
     }},
    {"ExchangeOfALongVector",
     [](World& world) {
       PartialAllreduce<float> rounds(world, 100'000, {.trigger = all()});
       std::puts("waits");
       std::fflush(stdout);
       rounds.exchange(std::vector<float>(100'000)).pass();
     }},
    {"Average",
     [](World& world) {
       GroupAverage<float> weights(world, std::vector<float>{1},
                                   {.group_size = 2, .trigger = all()});
       std::puts("waits");
       std::fflush(stdout);
       weights.average();
     }},
    {"Barrier",
     [](World& world) {
       std::puts("waits");
       std::fflush(stdout);
       world.barrier();
     }},
    {"Broadcast",
     [](World& world) {
       std::vector<float> data(3);
       std::puts("waits");
       std::fflush(stdout);
       world.broadcast(std::span(data), 0);
     }},
};

class FalseSuspicionOfAProcess : public ::testing::TestWithParam<Wait> {};

TEST_P(FalseSuspicionOfAProcess, EndsItsWaitAndTheOthersGoOn) {
  Processes processes(2, [](int rank) {
    World world = World::from_environment();
    world.set_timeout(30s);
    if (rank == 1) {
      expect_refused(ErrorCode::rank_lost, {"the others take rank 1 for dead"},
                     [&] { GetParam().call(world); });
      return;
    }
    // It comes along as far as both make the collective, and not to the wait.
    const std::string name = GetParam().name;
    std::optional<PartialAllreduce<float>> rounds;
    std::optional<GroupAverage<float>> weights;
    if (name == "Exchange") rounds.emplace(world, 1, PartialOptions{.trigger = all()});
    if (name == "ExchangeOfALongVector") {
      rounds.emplace(world, 100'000, PartialOptions{.trigger = all()});
    }
    if (name == "Average") {
      weights.emplace(world, std::vector<float>{1},
                      GroupOptions{.group_size = 2, .trigger = all()});
    }
    while (world.dead().empty()) std::this_thread::yield();  // The test ends who waits too long.
    if (rounds) {
      EXPECT_EQ(rounds->exchange().front().receipt().dead.list(), std::vector<int>{1});
    }
    if (weights) {
      EXPECT_EQ(weights->average().members.size(), 1);
    }
  });
  processes.on_line = [&](int rank, const std::string& line) {
    if (rank == 1 && line == "waits") processes.meeting().gone(1);
  };
  expect_all_well(processes);
}

INSTANTIATE_TEST_SUITE_P(, FalseSuspicionOfAProcess, ::testing::ValuesIn(kWaits),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace syncopate::testing

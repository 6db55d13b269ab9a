// When the fabric fails under one agent, every rank of every machine hears of it: whatever it waits
// for or calls next throws, with the reason, long before its timeout.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/failing_fabric.h"
#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const std::vector<int> kSizes{2, 1, 2};
constexpr const char* kRanksOf[] = {"(ranks 0 and 1)", "(rank 2)", "(ranks 3 and 4)"};
constexpr int kSlowRank = 4;  ///< Computes while the others wait.
/// A sanitizer makes everything slow, and other tests may have the cores.
constexpr Duration kSoon = 20s;

std::vector<World> worlds(int machine, FabricFailure& failure) {
  auto fabrics = memory_fabrics(static_cast<int>(kSizes.size()));
  fabrics[machine] = failing(std::move(fabrics[machine]), failure);
  return machines_of_threads(kSizes, false, std::move(fabrics));
}

int machine_of(int rank) { return rank < 2 ? 0 : rank == 2 ? 1 : 2; }

/// A rank that uses everything there is in turn, so that all calls of the fabric occur, until
/// something is thrown.
class Rank {
  /// Enough for machines to exchange parts (sum_by_parts.h).
  static constexpr std::size_t kLong = 5000;

 public:
  explicit Rank(World& world)
      : world_(world),
        rounds_(world, 1, {.trigger = all()}),
        long_rounds_(world, kLong, {.trigger = all()}),
        weights_(world, one_, {.group_size = 3, .synchronize_every = 3}) {}

  void work(FabricFailure& failure) {
    for (int step = 0; step < 1'000'000; ++step) {
      if (step == 5 && world_.rank() == 0) failure.due = true;
      if (world_.rank() == kSlowRank) std::this_thread::sleep_for(1ms);
      rounds_.exchange(one_).pass();
      long_rounds_.exchange(std::vector<float>(kLong, 1)).pass();
      weights_.start();
      averaging_ = true;
      weights_.wait();
      averaging_ = false;
      if (step % 3 == 0) world_.barrier();
      if (step % 7 == 6) PartialAllreduce<float>(world_, 1).exchange(one_).pass();
    }
  }

  /// And so does every call from then on, at once.
  void expect_all_calls_refused(const std::vector<std::string>& words) {
    const auto code = ErrorCode::machine_lost;
    expect_refused(code, words, [&] { rounds_.exchange(one_).pass(); });
    expect_refused(code, words, [&] { rounds_.start(one_); });
    expect_refused(code, words, [&] { rounds_.finish([](const Round<float>&) {}); });
    if (!averaging_) expect_refused(code, words, [&] { weights_.average(); });
    expect_refused(code, words, [&] { world_.barrier(); });
    expect_refused(code, words, [&] { world_.broadcast(std::span(one_), 0); });
    expect_refused(code, words, [&] { PartialAllreduce<float> another(world_, 1); });
    expect_refused(code, words, [&] { GroupAverage<float> another(world_, one_); });
  }

 private:
  World& world_;
  std::vector<float> one_{1.0F};
  bool averaging_ = false;
  PartialAllreduce<float> rounds_;
  PartialAllreduce<float> long_rounds_;
  GroupAverage<float> weights_;
};

using Case = std::tuple<FabricCall, int>;
constexpr const char* kCallNames[] = {"Message", "Look", "Open",    "Gather",
                                      "Reduce",  "Send", "Receive", "Done"};

class FabricFails : public ::testing::TestWithParam<Case> {};

TEST_P(FabricFails, EveryRankOfEveryMachineHearsWhy) {
  const auto [call, machine] = GetParam();
  FabricFailure failure{.at = call};
  const auto begin = Clock::now();
  on_threads(worlds(machine, failure), [&](World& world) {
    Rank rank(world);
    expect_refused(ErrorCode::machine_lost, {FabricFailure::kWords}, [&] { rank.work(failure); });
    rank.expect_all_calls_refused({FabricFailure::kWords});
  });
  EXPECT_TRUE(failure.happened);
  EXPECT_LT(Clock::now() - begin, kSoon);
}

std::string name(const ::testing::TestParamInfo<Case>& test) {
  const auto [call, machine] = test.param;
  return std::string(kCallNames[static_cast<int>(call)]) + "OfMachine" + std::to_string(machine);
}
INSTANTIATE_TEST_SUITE_P(
    , FabricFails,
    ::testing::Combine(::testing::Values(FabricCall::message, FabricCall::look, FabricCall::open,
                                         FabricCall::gather, FabricCall::reduce, FabricCall::send,
                                         FabricCall::receive, FabricCall::done),
                       ::testing::Range(0, 3)),
    name);

/// The average that was under way is not the caller's mistake.
TEST(FabricFailsAtTheBeginning, AnotherAverageSaysWhyToo) {
  FabricFailure failure{.at = FabricCall::send};
  failure.due = true;
  on_threads(worlds(0, failure), [&](World& world) {
    const std::vector<float> initial{1.0F};
    GroupAverage<float> weights(world, initial, {.group_size = 5});
    for (int call = 0; call < 2; ++call) {
      expect_refused(ErrorCode::machine_lost, {FabricFailure::kWords}, [&] { weights.average(); });
    }
  });
}

/// A user who reads the words wants to know where to look.
TEST(FabricFailsAtTheBeginning, TheWordsNameTheMachine) {
  FabricFailure failure{.at = FabricCall::gather};
  failure.due = true;
  on_threads(worlds(1, failure), [&](World& world) {
    expect_refused(ErrorCode::machine_lost, {FabricFailure::kWords, "host1", kRanksOf[1]},
                   [&] { world.barrier(); });
  });
}

TEST(FabricFailsForGood, TheOthersNameTheMachineThatCannotTellThem) {
  constexpr int kMachine = 1;
  FabricFailure failure{.at = FabricCall::gather, .for_good = true};
  const auto begin = Clock::now();
  on_threads(worlds(kMachine, failure), [&](World& world) {
    world.set_timeout(3s);
    Rank rank(world);
    const bool there = machine_of(world.rank()) == kMachine;
    const std::vector<std::string> words =
        there ? std::vector<std::string>{FabricFailure::kWords}
              : std::vector<std::string>{"machine host1", kRanksOf[kMachine], "not answered"};
    expect_refused(ErrorCode::machine_lost, words, [&] { rank.work(failure); });
    rank.expect_all_calls_refused(words);
  });
  EXPECT_LT(Clock::now() - begin, kSoon);
}

/// A rank that makes its first collective waits for the agents in another way than one that trains.
TEST(FabricFailsAtTheBeginning, EveryRankOfEveryMachineHearsWhy) {
  for (const FabricCall call : {FabricCall::look, FabricCall::open, FabricCall::gather}) {
    FabricFailure failure{.at = call};
    failure.due = true;
    on_threads(worlds(2, failure), [&](World& world) {
      expect_refused(ErrorCode::machine_lost, {FabricFailure::kWords}, [&] { Rank rank(world); });
    });
  }
}

/// A rank that leaves is told nothing anymore, and is not kept for ever by a machine that is
/// silent.
TEST(FabricFailsAtTheEnd, NobodyIsKept) {
  FabricFailure failure{.at = FabricCall::gather, .for_good = true};
  const auto begin = Clock::now();
  on_threads(worlds(1, failure), [&](World& world) {
    world.set_timeout(1s);
    world.barrier();
    if (world.rank() == 2) failure.due = true;
  });
  EXPECT_TRUE(failure.happened);
  EXPECT_LT(Clock::now() - begin, kSoon);
}

/// Machines that have nothing more to do go on telling each other that they are there, which keeps
/// no rank that has left beside a rank that had waited in vain.
TEST(NothingFails, SignsOfLifeKeepNobody) {
  std::atomic<bool> in_vain = false;
  std::atomic<int> gone = 0;
  std::vector<World> worlds = machines_of_threads({2, 1}, false, memory_fabrics(2));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    auto world = std::make_unique<World>(std::move(worlds[rank]));
    ranks.emplace_back([&, rank, world = std::move(world)]() mutable {
      world->set_timeout(1s);
      if (rank == 1) {
        expect_refused(ErrorCode::timeout, {}, [&] { world->barrier(); });
        in_vain = true;
        const auto begin = Clock::now();
        while (gone < 2 && Clock::now() - begin < kSoon) std::this_thread::sleep_for(10ms);
        EXPECT_EQ(gone, 2) << "the others are kept";
      }
      while (!in_vain) std::this_thread::sleep_for(10ms);
      world.reset();
      ++gone;
    });
  }
  worlds.clear();
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace syncopate::testing

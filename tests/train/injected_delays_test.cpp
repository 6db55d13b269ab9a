// What the steps of each rank meet: the same for every strategy, and as the imbalance says.
#include "train/injected_delays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "syncopate/error.h"

namespace syncopate::train {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeed = 1;
constexpr Duration kStep = 10ms;

InjectedDelays delays(const std::string& text, int ranks, int rank, std::uint64_t seed = kSeed) {
  return {Imbalance::parse(text), ranks, rank, seed};
}

/// The lengths of one step on all ranks.
std::vector<Duration> lengths(const std::string& text, int ranks, std::uint64_t step,
                              std::uint64_t seed = kSeed) {
  std::vector<Duration> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(delays(text, ranks, rank, seed).length(step, kStep));
  }
  return all;
}

void expect_refused(const std::string& text, int ranks, const std::string& sentences) {
  try {
    delays(text, ranks, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.what(), sentences);
    return;
  }
  ADD_FAILURE() << "\"" << text << "\" was accepted";
}

/// A file that is gone with the test.
class TraceFile {
 public:
  explicit TraceFile(const std::string& content)
      : name_(::testing::TempDir() +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt") {
    std::ofstream(name_) << content;
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { std::remove(name_.c_str()); }

  const std::string& name() const { return name_; }
  std::string imbalance() const { return "trace:" + name_; }

 private:
  std::string name_;
};

const char* const kDrawn[] = {"random:2x20ms", "shift:5..40ms", "persistent:0*8",
                              "lognormal:10ms,0.8"};

TEST(Imbalance, EveryStrategyMeetsTheSameWeather) {
  for (const char* text : kDrawn) {
    for (int rank = 0; rank < 8; ++rank) {
      // One strategy takes its steps in order; another runs in another process, where nothing
      // was asked before, and resumes anywhere.
      const InjectedDelays in_order = delays(text, 8, rank);
      for (std::uint64_t step = 0; step < 50; ++step) {
        EXPECT_EQ(in_order.length(step, kStep), delays(text, 8, rank).length(step, kStep)) << text;
      }
    }
  }
}

TEST(Imbalance, WeatherOfASeedStaysTheSameAcrossVersions) {
  // Runs that were kept are compared with new ones.
  std::string struck;
  for (std::uint64_t step = 0; step < 12; ++step) {
    const auto all = lengths("random:1x20ms", 8, step);
    struck += std::to_string(std::max_element(all.begin(), all.end()) - all.begin());
  }
  EXPECT_EQ(struck, "457361313102");
  EXPECT_NEAR(delays("lognormal:10ms,0.8", 8, 3).length(5, 0ns).count(), 4193593, 2);
}

TEST(Imbalance, AnotherSeedBringsAnotherWeather) {
  for (const char* text : {"random:2x20ms", "lognormal:10ms,0.8"}) {
    int different = 0;
    for (std::uint64_t step = 0; step < 100; ++step) {
      if (lengths(text, 8, step, 1) != lengths(text, 8, step, 2)) ++different;
    }
    EXPECT_GT(different, 80) << text;
  }
}

TEST(Imbalance, NoneLeavesStepsAsTheyAre) {
  EXPECT_EQ(lengths("none", 3, 7), std::vector<Duration>({kStep, kStep, kStep}));
}

TEST(Imbalance, RandomDelaysKDifferentRanksInEachStep) {
  for (const int struck : {1, 2, 7, 8}) {
    const std::string text = "random:" + std::to_string(struck) + "x20ms";
    for (std::uint64_t step = 0; step < 200; ++step) {
      const auto all = lengths(text, 8, step);
      EXPECT_EQ(std::count(all.begin(), all.end(), kStep + 20ms), struck);
      EXPECT_EQ(std::count(all.begin(), all.end(), kStep), 8 - struck);
    }
  }
}

TEST(Imbalance, RandomStrikesEveryRankEquallyOften) {
  constexpr int kSteps = 8000;
  for (int rank = 0; rank < 8; ++rank) {
    const InjectedDelays one = delays("random:2x20ms", 8, rank);
    int struck = 0;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      if (one.length(step, kStep) > kStep) ++struck;
    }
    EXPECT_NEAR(struck, kSteps / 4, 5 * std::sqrt(kSteps * 0.25 * 0.75)) << "rank " << rank;
  }
}

TEST(Imbalance, ShiftGivesEveryRankEveryDelayOnce) {
  const std::set<Duration> every = {15ms, 20ms, 25ms, 30ms, 35ms, 40ms, 45ms, 50ms};
  for (std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63}) {
    const auto all = lengths("shift:5..40ms", 8, step);
    EXPECT_EQ(std::set<Duration>(all.begin(), all.end()), every);
  }
  for (int rank = 0; rank < 8; ++rank) {
    const InjectedDelays one = delays("shift:5..40ms", 8, rank);
    std::set<Duration> met;
    for (std::uint64_t step = 100; step < 108; ++step) met.insert(one.length(step, kStep));
    EXPECT_EQ(met, every) << "rank " << rank;
  }
}

TEST(Imbalance, ShiftReachesBothEndsWhateverTheNumberOfRanks) {
  for (const int ranks : {2, 3, 7, 13}) {
    const auto all = lengths("shift:5..40ms", ranks, 0);
    EXPECT_EQ(all.front(), kStep + 5ms);
    EXPECT_EQ(all.back(), kStep + 40ms);
  }
  EXPECT_EQ(lengths("shift:5..40ms", 1, 3), std::vector<Duration>({kStep + 5ms}));
}

TEST(Imbalance, PersistentMultipliesTheStepsOfTheNamedRanks) {
  EXPECT_EQ(lengths("persistent:0*8+2*1.5", 4, 1000),
            std::vector<Duration>({80ms, 10ms, 15ms, 10ms}));
}

TEST(Imbalance, LognormalHasItsMedian) {
  constexpr int kRanks = 4;
  constexpr int kSteps = 10000;
  std::vector<double> drawn;
  for (int rank = 0; rank < kRanks; ++rank) {
    const InjectedDelays one = delays("lognormal:10ms,0.8", kRanks, rank);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      drawn.push_back(std::log(static_cast<double>(one.length(step, 0ns).count()) / 10e6));
    }
  }
  double squares = 0;
  for (const double value : drawn) squares += value * value;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(drawn.size())), 0.8, 0.02);
  std::sort(drawn.begin(), drawn.end());
  EXPECT_NEAR(drawn[drawn.size() / 2], 0, 0.02);
}

TEST(Imbalance, LognormalIsALeastLength) {
  const InjectedDelays one = delays("lognormal:10ms,0.8", 2, 1);
  for (std::uint64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(one.length(step, kStep), std::max(kStep, one.length(step, 0ns)));
  }
}

TEST(Imbalance, TraceIsReplayedFromAnotherPlaceOnEachRank) {
  const TraceFile file("# recorded on two cores\r\n1\n2.5ms\n\n 300us # a short one\n0.004s\t\n");
  const Duration times[] = {1ms, 2500us, 300us, 4ms};
  for (int rank = 0; rank < 4; ++rank) {
    const InjectedDelays one = delays(file.imbalance(), 4, rank);
    for (std::uint64_t step = 0; step < 12; ++step) {
      EXPECT_EQ(one.length(step, 0ns), times[(rank + step) % 4]);
      EXPECT_EQ(one.length(step, kStep), kStep);
    }
  }
  // Two ranks are spread over the file.
  EXPECT_EQ(delays(file.imbalance(), 2, 1).length(0, 0ns), 300us);
}

TEST(Imbalance, TraceErrorsNameTheFileAndTheLine) {
  const TraceFile file("# times\n12.5\n\n7 ms\n");
  expect_refused(file.imbalance(), 2,
                 file.name() +
                     ":4: \"7 ms\" is not a step time. Write one time per line, in milliseconds or "
                     "with a unit, such as 12.5 or 900us.");
}

TEST(Imbalance, TraceWithoutTimesIsRefused) {
  const TraceFile file("# nothing yet\n\n");
  expect_refused(file.imbalance(), 2,
                 "The trace \"" + file.name() + "\" has no step times. Write one time per line.");
  expect_refused("trace:no/such/file", 2,
                 "The trace \"no/such/file\" cannot be read: No such file or directory. Name a "
                 "text file with one step time per line.");
  expect_refused("trace:/", 2,
                 "The trace \"/\" cannot be read: Is a directory. Name a text file with one step "
                 "time per line.");
}

TEST(Imbalance, MustSuitTheNumberOfRanks) {
  expect_refused("random:9x20ms", 8,
                 "The imbalance \"random:9x20ms\" delays 9 ranks in each step, but there are only "
                 "8. Delay at most 8.");
  expect_refused("persistent:1*2+4*8", 4,
                 "The imbalance \"persistent:1*2+4*8\" slows rank 4, but there are only 4. Name "
                 "ranks from 0 to 3.");
}

TEST(Imbalance, EveryStepNumberHasItsWeather) {
  const TraceFile file("1\n2\n3\n");
  for (const std::string& text : {std::string("random:2x20ms"), std::string("shift:5..40ms"),
                                  std::string("lognormal:10ms,10"), file.imbalance()}) {
    for (const std::uint64_t step : {std::uint64_t{1} << 32, UINT64_MAX - 1, UINT64_MAX}) {
      for (const Duration length : lengths(text, 8, step)) {
        EXPECT_GE(length, kStep) << text;
        EXPECT_LE(length, 24h * 365) << text;
      }
    }
  }
}

}  // namespace
}  // namespace syncopate::train

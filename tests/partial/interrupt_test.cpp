// A wait that the program ends: as if its time were up. The rank can go on, and nothing is lost.
#include "syncopate/interrupt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/ranks.h"
#include "syncopate/error.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::testing {
namespace {

/// The thread whose waits are to end.
std::atomic<std::thread::id> interrupted_thread;

int go_on() { return std::this_thread::get_id() == interrupted_thread.load() ? 0 : 1; }

class Interrupt : public ::testing::TestWithParam<int> {
 protected:
  Interrupt() { set_interrupt(go_on); }
  ~Interrupt() override {
    interrupted_thread = std::thread::id();
    set_interrupt(nullptr);
  }
};

// Two ranks settle short rounds between themselves, on what a rank that waits has promised not to
// change: an interrupted rank may deposit more.
TEST_P(Interrupt, EndsAWaitAndLosesNothing) {
  const int ranks = GetParam();
  std::atomic<bool> interrupted = false;
  std::vector<std::vector<float>> rounds(ranks);
  on_threads(ranks, [&](World& world) {
    world.set_timeout(std::chrono::seconds(30));
    PartialAllreduce<float> sums(world, 3, {.trigger = all(), .scale = Scale::none});
    std::vector<float>& seen = rounds[world.rank()];
    const auto exchange = [&](float value) {
      std::fill_n(sums.slot(), 3, value);
      for (const auto& round : sums.exchange()) seen.push_back(round.sum()[0]);
    };
    if (world.rank() == 0) {
      interrupted_thread = std::this_thread::get_id();
      try {
        exchange(1);
        ADD_FAILURE() << "the wait has not ended";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::interrupted);
        EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
      }
      interrupted_thread = std::thread::id();
      interrupted = true;
      exchange(10);
    } else {
      while (!interrupted) std::this_thread::yield();
      exchange(100);
    }
    sums.finish([&](const Round<float>& round) { seen.push_back(round.sum()[0]); });
  });
  for (const auto& seen : rounds) EXPECT_EQ(seen, rounds[0]);
  float total = 0;
  for (const float sum : rounds[0]) total += sum;
  EXPECT_EQ(total, 11 + 100 * float(ranks - 1));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Interrupt, ::testing::Values(2, 3));

}  // namespace
}  // namespace syncopate::testing

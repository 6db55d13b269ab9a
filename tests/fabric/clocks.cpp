// Ranks on machines whose clocks are hours apart (clocks.sh): who was waited for, how long a round
// stays open and when a wait is given up do not depend on what time it is anywhere.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "syncopate/syncopate.h"

namespace {

using namespace std::chrono_literals;
using namespace syncopate;
using Clock = std::chrono::steady_clock;

const std::vector<float> kOne{1.0F};

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("not so: " + what);
}

/// As far as the clocks tell, which the test has set: rank 0 is the earliest.
void tell_clocks(const World& world) {
  timespec monotonic{}, wall{};
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  clock_gettime(CLOCK_REALTIME, &wall);
  std::printf("rank %d: monotonic %ld, wall %ld\n", world.rank(), monotonic.tv_sec, wall.tv_sec);
}

/// Each rank in turn comes late, and receipts of the others name it.
void name_who_was_late(World& world) {
  PartialAllreduce<float> rounds(world, 1, {.trigger = all()});
  rounds.exchange(kOne).pass();
  for (int step = 0; step < 2 * world.size(); ++step) {
    const int late = step % world.size();
    if (world.rank() == late) std::this_thread::sleep_for(200ms);
    const Receipt receipt = rounds.exchange(kOne).front().receipt();
    if (world.rank() == late) continue;
    require(receipt.waited_for == late, "rank " + std::to_string(late) +
                                            " was waited for, and the receipt names rank " +
                                            std::to_string(receipt.waited_for));
    require(receipt.waited > 0ns && receipt.waited < 60s, "it was waited for that long");
  }
}

/// A round stays open for so long, whichever machine's clock it is.
void stay_open(World& world) {
  constexpr auto kGrace = 300ms;
  for (int only = 0; only < world.size(); ++only) {
    PartialAllreduce<float> rounds(world, 1, {.trigger = first(), .grace = grace(kGrace)});
    if (world.rank() == only) {  // The others do not come.
      const auto begin = Clock::now();
      rounds.exchange(kOne).pass();
      const auto took = Clock::now() - begin;
      require(took > kGrace / 2 && took < 60s, "the round was open for about the grace");
    }
    world.barrier();
    rounds.finish([](const Round<float>&) {});
  }
}

/// Waits are given up in time, and not before.
void give_up_in_time(World& world) {
  constexpr auto kTimeout = 1s;
  PartialAllreduce<float> rounds(world, 1, {.trigger = all()});
  world.barrier();
  const int absent = world.size() - 1;
  if (world.rank() != absent) {
    const Duration before = world.timeout();
    world.set_timeout(kTimeout);
    const auto begin = Clock::now();
    try {
      rounds.exchange(kOne).pass();
      require(false, "no rank came");
    } catch (const Error& error) {
      const auto took = Clock::now() - begin;
      require(
          error.code() == ErrorCode::timeout &&
              std::string(error.what()).find("rank " + std::to_string(absent)) != std::string::npos,
          std::string("it names who did not come: ") + error.what());
      require(took >= kTimeout && took < 60s, "it was given up in time");
    }
    world.set_timeout(before);
  }
  world.barrier();
  if (world.rank() == absent) rounds.start(kOne);
  require(rounds.wait().front().receipt().contributors.size() == world.size(), "all came");
}

}  // namespace

int main() {
  int rank = -1;
  try {
    World world = World::from_environment();
    rank = world.rank();
    tell_clocks(world);
    name_who_was_late(world);
    stay_open(world);
    give_up_in_time(world);
    std::printf("rank %d is content\n", rank);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::printf("rank %d failed: %s\n", rank, error.what());
    return EXIT_FAILURE;
  }
}

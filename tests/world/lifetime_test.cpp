// Collectives come and go: several at once, in every order, and their memory comes back.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "support/promise.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

/// What this process has: memory of its own and of board files, and how much is mapped.
struct Footprint {
  std::uint64_t bytes = 0;
  int mappings = 0;
};

std::uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(line.find(':') + 1)) * 1024;
  }
  ADD_FAILURE() << "no RssAnon";
  return 0;
}

std::uint64_t board_bytes() {
  std::uint64_t result = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    char target[256] = {};
    if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
    struct stat status;
    if (std::string(target).find("memfd:syncopate-board") == std::string::npos) continue;
    if (stat(path.c_str(), &status) == 0) {
      result = std::max<std::uint64_t>(result, status.st_blocks * 512);
    }
  }
  closedir(folder);
  return result;
}

Footprint footprint() {
  Footprint result{.bytes = private_bytes() + board_bytes()};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++result.mappings;
  return result;
}

TEST(Lifetime, TheMemoryOfACollectiveComesBackWhenItsLastRankIsDone) {
  constexpr std::size_t kElements = 1 << 18;
  constexpr std::uint64_t kBytes = kElements * sizeof(float);
  constexpr int kCollectives = 30;
  // Each has a deposit at least, in whose place the result may be, and something else may grow a
  // little.
  constexpr std::uint64_t kAllowed = kCollectives * kBytes / 3;
  run(crew_of_this_program(), 3, [&](World& world) {
    std::optional<Footprint> at_first;
    for (int i = 0; i < kCollectives; ++i) {
      world.barrier();
      const std::uint64_t before = board_bytes();
      const std::uint64_t private_before = private_bytes();
      {
        PartialAllreduce<float> rounds(world, kElements, {.trigger = first()});
        std::fill_n(rounds.slot(), kElements, 1.0F);
        rounds.exchange().pass();
        EXPECT_TRUE(board_bytes() >= before + kBytes || private_bytes() >= private_before + kBytes);
        rounds.finish([](const Round<float>&) {});
      }
      world.barrier();
      const Footprint now = footprint();
      EXPECT_LT(board_bytes(), kBytes) << "after " << i + 1 << " collectives";
      world.barrier();
      if (!at_first) at_first = now;
      // (ASan keeps what was freed for a while.)
      if (!kAddressSanitizer) {
        EXPECT_LE(now.bytes, at_first->bytes + kAllowed) << "after " << i + 1 << " collectives";
      }
      EXPECT_LE(now.mappings, at_first->mappings + kCollectives / 3);
    }
  });
}

TEST(Lifetime, ManyCollectivesAtOnceDoNotTouchEachOther) {
  constexpr int kCollectives = 20;
  run(crew_of_this_program(), 3, [&](World& world) {
    std::vector<PartialAllreduce<float>> many;
    for (int i = 0; i < kCollectives; ++i) {
      many.emplace_back(
          world, i + 1,
          PartialOptions{.trigger = trigger_named(kTriggers[i % 4], 3), .scale = Scale::none});
    }
    std::vector<double> totals(kCollectives);
    const auto add_to = [&](int i) {
      return [&totals, i](const Round<float>& round) { totals[i] += round.sum()[i]; };
    };
    for (int step = 0; step < 20; ++step) {
      for (int i = 0; i < kCollectives; ++i) {
        many[i].start(std::vector<float>(i + 1, static_cast<float>(i)));
      }
      for (int i = kCollectives - 1; i >= 0; --i) {
        for (const auto& round : many[i].wait()) add_to(i)(round);
      }
    }
    // A rank that follows one to its end must not be waited for in the others.
    for (auto& rounds : many) rounds.stop();
    for (int i = 0; i < kCollectives; ++i) many[i].finish(add_to(i));
    for (int i = 0; i < kCollectives; ++i) EXPECT_EQ(totals[i], 20.0 * 3 * i);
    // Taken down in another order on every rank.
    while (!many.empty()) {
      if (world.rank() == 0) std::swap(many.front(), many.back());
      many.pop_back();
    }
    world.barrier();
  });
}

TEST(Lifetime, ACollectiveOutlivesItsWorldHandle) {
  run(crew_of_this_program(), 2, [](World& world) {
    std::optional<World> handle(world);
    PartialAllreduce<float> rounds(*handle, 1, {.trigger = all(), .scale = Scale::none});
    handle.reset();
    const std::vector<float> one{1.0F};
    EXPECT_EQ(rounds.exchange(one).front().sum()[0], 2.0F);
  });
}

TEST(Lifetime, ARankThatDropsItsCollectiveIsNotWaitedFor) {
  run(crew_of_this_program(), 3, [](World& world) {
    std::optional<PartialAllreduce<float>> rounds;
    rounds.emplace(world, 1, PartialOptions{.trigger = all(), .scale = Scale::none});
    const std::vector<float> one{1.0F};
    if (world.rank() == 1) {
      rounds->start(one);
      rounds.reset();
    } else {
      double total = 0;
      const auto add = [&](const Round<float>& round) { total += round.sum()[0]; };
      for (int i = 0; i < 5; ++i) {
        for (const auto& round : rounds->exchange(one)) add(round);
      }
      rounds->finish(add);
      EXPECT_EQ(total, 11) << "its deposit counts";
    }
    world.barrier();
  });
}

TEST(Lifetime, ARankThatEndsIsNotWaitedFor) {
  // Of several machines it may have been the only rank of one, or the first.
  for (const int early : {0, 2}) {
    run(crew_of_this_program(), 3, [=](World& world) {
      if (world.rank() == early) return;
      PartialAllreduce<float> rounds(world, 1, {.trigger = all(), .scale = Scale::none});
      const std::vector<float> one{1.0F};
      EXPECT_EQ(rounds.exchange(one).front().sum()[0], 2.0F);
      GroupAverage<float> average(world, one, {.group_size = 3, .trigger = all()});
      average.weights()[0] = static_cast<float>(world.rank());
      EXPECT_EQ(average.average().members.size(), 2);
      EXPECT_EQ(average.weights()[0], early == 0 ? 1.5F : 0.5F);
      world.barrier();
      EXPECT_TRUE(world.dead().empty()) << "it left in good order";
    });
  }
}

}  // namespace
}  // namespace syncopate::testing

// The world itself: barrier, broadcast, and what it says about the ranks.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>
#include <thread>

#include "support/promise.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

class Worlds : public ::testing::TestWithParam<int> {
 protected:
  void run_ranks(const std::function<void(World&)>& body) {
    run(crew_of_this_program(), GetParam(), body);
  }
};

struct Counter {
  std::atomic<int> come;
};

TEST_P(Worlds, NobodyPassesABarrierBeforeAllHaveCome) {
  const int turns = 200 / thrift();
  Common<Counter> counter;
  run_ranks([&](World& world) {
    std::mt19937_64 random(world.rank());
    for (int turn = 1; turn <= turns; ++turn) {
      be_away(static_cast<int>(random() % 3));
      ++counter->come;
      world.barrier();
      ASSERT_GE(counter->come, turn * world.size());
      world.barrier();
      ASSERT_LE(counter->come, (turn + 1) * world.size());
    }
  });
}

TEST_P(Worlds, ABroadcastBringsEveryBitOfTheRoot) {
  constexpr std::size_t kLargest = 200'001;  // Several messages, the last one short and odd.
  run_ranks([&](World& world) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{7},
                                    std::size_t{4096}, std::size_t{65536}, kLargest}) {
      for (int root = 0; root < world.size(); root += 1 + world.size() / 3) {
        std::vector<unsigned char> data(bytes);
        std::mt19937 random(static_cast<unsigned>(bytes + root));
        std::vector<unsigned char> expected(bytes);
        for (auto& byte : expected) byte = static_cast<unsigned char>(random());
        if (world.rank() == root) data = expected;
        world.broadcast(std::span(data), root);
        ASSERT_EQ(data, expected) << bytes << " bytes from rank " << root;
      }
    }
  });
}

TEST_P(Worlds, ABroadcastKeepsNumbersThatArithmeticWouldChange) {
  // Negative zero, signalling and quiet NaNs with payloads, infinities, denormals.
  const std::vector<std::uint32_t> patterns = {0x80000000, 0x7f800001, 0xff800001, 0x7fc12345,
                                               0x7f800000, 0xff800000, 0x00000001, 0x807fffff,
                                               0x00000000, 0x7fbfffff};
  run_ranks([&](World& world) {
    std::vector<std::uint32_t> data(patterns.size());
    if (world.rank() == world.size() - 1) data = patterns;
    world.broadcast(std::span(data), world.size() - 1);
    EXPECT_EQ(data, patterns);
  });
}

TEST_P(Worlds, KnowTheirRanks) {
  Common<Counter> ranks;
  run_ranks([&](World& world) {
    EXPECT_EQ(world.size(), GetParam());
    EXPECT_GE(world.rank(), 0);
    EXPECT_LT(world.rank(), world.size());
    EXPECT_TRUE(world.dead().empty());
    ranks->come += 1 << world.rank() % 30;
    world.barrier();
  });
}

/// The machine of each rank, as SYNCOPATE_SPLIT makes them of one host.
std::vector<int> split_machines(const std::string& split, int ranks) {
  std::vector<int> sizes;
  std::istringstream text(split);
  for (std::string size; std::getline(text, size, ',');) sizes.push_back(std::stoi(size));
  std::vector<int> result;
  for (int machine = 0; static_cast<int>(result.size()) < ranks; ++machine) {
    result.insert(result.end(), sizes[machine % sizes.size()], machine);
  }
  result.resize(ranks);
  return result;
}

/// What a rank tells the others about where it is.
enum Told : std::size_t { kMachine, kLocalRank, kLocalSize, kTold };

TEST_P(Worlds, KnowTheirPlacesOnTheirMachines) {
  const Crew crew = crew_of_this_program();
  run_ranks([&](World& world) {
    const int ranks = world.size();
    EXPECT_GE(world.cores(), 1);
    Allreduce<float> gather(world, ranks * kTold);
    std::fill_n(gather.slot(), gather.size(), 0.0F);
    float* mine = gather.slot() + world.rank() * kTold;
    mine[kMachine] = static_cast<float>(world.machine());
    mine[kLocalRank] = static_cast<float>(world.local_rank());
    mine[kLocalSize] = static_cast<float>(world.local_size());
    const auto done = gather.exchange();
    const auto told = [&](int rank, Told what) {
      return static_cast<int>(done.front().sum()[rank * kTold + what]);
    };
    std::vector<int> machines;
    std::vector<int> seated(world.machines());
    for (int rank = 0; rank < ranks; ++rank) {
      machines.push_back(told(rank, kMachine));
      ASSERT_LT(machines.back(), world.machines());
      // In the order of the ranks, without a gap.
      EXPECT_EQ(told(rank, kLocalRank), seated[machines.back()]++);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(told(rank, kLocalSize), seated[machines[rank]]);
    }
    EXPECT_EQ(std::ranges::count(seated, 0), 0);
    const char* split = std::getenv("SYNCOPATE_SPLIT");
    if (crew == Crew::mpirun && split != nullptr) {
      EXPECT_EQ(machines, split_machines(split, ranks));
    }
    if (!on_several_boards(crew)) {
      EXPECT_EQ(world.machines(), 1);
    }
    if (crew == Crew::machines) {
      EXPECT_EQ(world.machines() > 1, ranks > 1);
    }
  });
}

TEST_P(Worlds, TellWhoHasLeftInGoodOrder) {
  if (crew_of_this_program() == Crew::mpirun) GTEST_SKIP() << "no rank ends before the others";
  run_ranks([&](World& world) {
    const int leaver = world.size() - 1;
    int place = world.machine();
    world.broadcast(std::span(&place, 1), leaver);
    world.barrier();
    if (world.rank() == leaver) return;
    if (place == world.machine()) {
      while (!world.gone().contains(leaver)) std::this_thread::yield();
    }
    EXPECT_TRUE(world.dead().empty());
  });
}

TEST_P(Worlds, AnAllreduceSumsOverAll) {
  run_ranks([](World& world) {
    Allreduce<double> sum(world, 3);
    Allreduce<float> mean(world, 2, {.scale = Scale::ranks});
    for (int step = 0; step < 50 / thrift(); ++step) {
      for (int e = 0; e < 3; ++e) sum.slot()[e] = world.rank() + step * e;
      const double ranks = world.size();
      const auto done = sum.exchange();
      EXPECT_EQ(done.size(), 1U);
      for (int e = 0; e < 3; ++e) {
        EXPECT_EQ(done.front().sum()[e], ranks * (ranks - 1) / 2 + ranks * step * e);
      }
      const std::vector<float> same{4.0F, -2.0F};
      mean.start(same);
      while (!mean.ready()) be_away(1);
      EXPECT_FLOAT_EQ(mean.wait().front().mean()[1], -2.0F);
    }
  });
}

std::string name(const ::testing::TestParamInfo<int>& test) { return std::to_string(test.param); }

INSTANTIATE_TEST_SUITE_P(, Worlds, ::testing::ValuesIn(rank_counts({1, 2, 3, 7, 8, 32})), name);

TEST(Alone, ARankIsAWorldOfItsOwn) {
  if (mpirun_ranks() > 1) GTEST_SKIP() << "mpirun has started others";
  const World world = World::from_environment();
  EXPECT_EQ(world.local_rank(), 0);
  EXPECT_EQ(world.local_size(), 1);
  EXPECT_EQ(world.machine(), 0);
  EXPECT_EQ(world.machines(), 1);
  EXPECT_GE(world.cores(), 1);
  EXPECT_TRUE(world.gone().empty());
  PartialAllreduce<float> rounds(world, 2, {.trigger = majority()});
  for (int i = 1; i <= 10; ++i) {
    rounds.slot()[0] = static_cast<float>(i);
    rounds.slot()[1] = -1.0F;
    const auto done = rounds.exchange();
    EXPECT_EQ(done.front().mean()[0], static_cast<float>(i));
    EXPECT_TRUE(done.front().receipt().included);
  }
  rounds.finish([](const Round<float>& round) { EXPECT_TRUE(round.receipt().last); });
}

}  // namespace
}  // namespace syncopate::testing

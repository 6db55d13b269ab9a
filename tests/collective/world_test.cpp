// The world itself: barrier, broadcast, and what it says about the ranks.
#include <cstring>
#include <numeric>

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
  PartialAllreduce<float> rounds(World::from_environment(), 2, {.trigger = majority()});
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

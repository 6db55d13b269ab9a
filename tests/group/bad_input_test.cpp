// Wrong use of a group average is refused in words that help, and harms nothing.
#include <limits>
#include <vector>

#include "support/promise.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
const std::vector<float> kThree(3, 1.0F);

void expect_usable(World& world) {
  GroupAverage<float> weights(world, kThree, {.trigger = all()});
  EXPECT_TRUE(weights.average().included);
  EXPECT_EQ(weights.weights()[2], 1.0F);
  world.barrier();
}

struct WrongOptions {
  const char* name;
  GroupOptions options;
  std::vector<std::string> words;
};

class BadGroupOptions : public ::testing::TestWithParam<WrongOptions> {};

TEST_P(BadGroupOptions, AreRefusedOnEveryRank) {
  on_threads(3, [&](World& world) {
    expect_refused(kInvalid, GetParam().words,
                   [&] { GroupAverage<float> weights(world, kThree, GetParam().options); });
    expect_usable(world);
  });
}

const WrongOptions kWrongOptions[] = {
    {"SizeAboveRanks", {.group_size = 4}, {"group size is 4", "world of 3", "from 1 to 3"}},
    {"SizeNegative", {.group_size = -1}, {"group size is -1", "from 1 to 3"}},
    {"SynchronizeNegative", {.synchronize_every = -1}, {"synchronize_every is -1", "0 (never)"}},
    {"SynchronizeTooSeldom", {.synchronize_every = 251}, {"251", "to 250"}},
    {"TriggerMajority", {.trigger = majority()}, {"majority", "first or all"}},
    {"TriggerCount", {.trigger = count(2)}, {"count", "first or all"}},
    {"TriggerThatThereIsNot",
     {.trigger = {.kind = static_cast<Trigger::Kind>(9)}},
     {"trigger is number 9", "by its name"}},
    {"LateMergeThatThereIsNot",
     {.late = static_cast<LateMerge>(2)},
     {"late merge is number 2", "by its name"}},
    {"WindowNegative", {.window = -1}, {"window is -1", "from 1 to 250"}},
    {"WindowTooLarge", {.window = 251}, {"window is 251", "from 1 to 250"}},
    {"GraceNegative", {.grace = grace(-1ms)}, {"grace is -1000000 ns", "from 0"}},
    {"ShareInfinite",
     {.grace = automatic_grace(std::numeric_limits<double>::infinity())},
     {"share", "inf", "from 0 to 10"}},
};

INSTANTIATE_TEST_SUITE_P(, BadGroupOptions, ::testing::ValuesIn(kWrongOptions),
                         [](const auto& test) { return std::string(test.param.name); });

void expect_mismatch(const std::vector<float>& weights, const GroupOptions& usual,
                     const std::vector<float>& other, const GroupOptions& odd,
                     const std::vector<std::string>& words) {
  on_threads(3, [&](World& world) {
    expect_refused(ErrorCode::mismatch, words, [&] {
      const bool is_odd = world.rank() == 1;
      GroupAverage<float> average(world, is_odd ? other : weights, is_odd ? odd : usual);
    });
    expect_usable(world);
  });
}

TEST(GroupMismatch, IsToldToEveryRank) {
  const std::vector<float> four(4, 1.0F);
  expect_mismatch(kThree, {}, four, {}, {"3 float32", "4 float32"});
  expect_mismatch(kThree, {.group_size = 2}, kThree, {.group_size = 3}, {"of 2", "of 3"});
  expect_mismatch(kThree, {}, kThree, {.rotate = false}, {"rotate", "stay"});
  expect_mismatch(kThree, {}, kThree, {.synchronize_every = 9}, {"every 10", "every 9"});
  expect_mismatch(kThree, {}, kThree, {.trigger = all()}, {"trigger first", "trigger all"});
  expect_mismatch(kThree, {}, kThree, {.window = 9}, {"window 10", "window 9"});
  expect_mismatch(kThree, {}, kThree, {.seed = 2}, {"seed 1", "seed 2"});
  expect_mismatch(kThree, {}, kThree, {.grace = grace(2ms)}, {"grace off", "2000000ns"});
}

TEST(GroupOfSameOptions, HoweverTheDefaultsAreWritten) {
  on_threads(4, [](World& world) {
    const GroupOptions spelled{.group_size = 2, .window = 10};
    GroupAverage<float> average(world, kThree, world.rank() == 1 ? spelled : GroupOptions{});
    average.average();
    world.barrier();
  });
}

class BadAverages : public ::testing::Test {
 protected:
  World world_ = World::threads(1).front();
};

TEST_F(BadAverages, WithoutInitialWeightsAreRefused) {
  const std::span<const float> null(static_cast<const float*>(nullptr), 3);
  expect_refused(kInvalid, {"initial weights are null"},
                 [&] { GroupAverage<float> weights(world_, null); });
  GroupAverage<float> nothing(world_, std::span<const float>());
  EXPECT_EQ(nothing.average().step, 1U);
  EXPECT_EQ(nothing.average(std::span<float>()).step, 2U);
}

TEST_F(BadAverages, OfAWrongBufferAreRefused) {
  GroupAverage<float> weights(world_, kThree);
  std::vector<float> four(4);
  expect_refused(kInvalid, {"4 elements", "3"}, [&] { weights.average(four); });
  expect_refused(kInvalid, {"2 elements", "3"},
                 [&] { weights.average(std::span<float>(four).first(2)); });
  expect_refused(kInvalid, {"0 elements", "3"}, [&] { weights.average(std::span<float>()); });
  expect_refused(kInvalid, {"null"},
                 [&] { weights.average(std::span<float>(static_cast<float*>(nullptr), 3)); });
  EXPECT_EQ(weights.average().step, 1U) << "something was published all the same";
}

TEST_F(BadAverages, InTheWrongOrderAreRefused) {
  GroupAverage<float> weights(world_, kThree);
  expect_refused(kInvalid, {"wait() without a start()"}, [&] { weights.wait(); });
  EXPECT_FALSE(weights.ready());
  weights.start();
  expect_refused(kInvalid, {"between start() and wait()"}, [&] { weights.weights(); });
  expect_refused(kInvalid, {"between start() and wait()"}, [&] { weights.start(); });
  expect_refused(kInvalid, {"between start() and wait()"}, [&] { weights.average(); });
  std::vector<float> own(3);
  expect_refused(kInvalid, {"between start() and wait()"}, [&] { weights.average(own); });
  EXPECT_EQ(weights.wait().step, 1U);
  expect_refused(kInvalid, {"wait() without a start()"}, [&] { weights.wait(); });
  EXPECT_EQ(weights.weights()[0], 1.0F);
}

TEST_F(BadAverages, AfterLeavingAreRefused) {
  GroupAverage<float> weights(world_, kThree);
  weights.average();
  weights.leave();
  constexpr ErrorCode kClosed = ErrorCode::closed;
  std::vector<float> own(3);
  expect_refused(kClosed, {"after leave()"}, [&] { weights.weights(); });
  expect_refused(kClosed, {"after leave()"}, [&] { weights.average(); });
  expect_refused(kClosed, {"after leave()"}, [&] { weights.average(own); });
  expect_refused(kClosed, {"after leave()"}, [&] { weights.start(); });
  expect_refused(kClosed, {"after leave()"}, [&] { weights.ready(); });
  expect_refused(kClosed, {"after leave()"}, [&] { weights.wait(); });
  expect_refused(kClosed, {"after leave()"}, [&] { weights.leave(); });
}

TEST(GroupSizes, ThatNoMemoryCanHoldAreRefused) {
  on_threads(2, [](World& world) {
    const float one = 1;
    const std::span<const float> endless(&one, std::size_t{1} << 39);
    expect_refused(ErrorCode::out_of_memory, {"MiB", "available"},
                   [&] { GroupAverage<float> weights(world, endless); });
    expect_usable(world);
  });
}

}  // namespace
}  // namespace syncopate::testing

// Wrong arguments are refused before anything starts, on every rank that they concern, in words
// that say what was wrong and what is allowed; and the world is good for another try.
#include <cmath>
#include <limits>
#include <optional>

#include "support/promise.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"
#include "world/make_collective.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
constexpr ErrorCode kMismatch = ErrorCode::mismatch;

/// A collective that works, to show that the world still does.
void expect_usable(World& world) {
  PartialAllreduce<float> rounds(world, 3, {.trigger = all(), .scale = Scale::none});
  const std::vector<float> ones(3, 1.0F);
  EXPECT_EQ(rounds.exchange(ones).front().sum()[2], static_cast<float>(world.size()));
  world.barrier();
}

struct WrongOptions {
  const char* name;
  PartialOptions options;
  std::vector<std::string> words;
};

class BadOptions : public ::testing::TestWithParam<WrongOptions> {};

TEST_P(BadOptions, AreRefusedOnEveryRank) {
  on_threads(3, [&](World& world) {
    expect_refused(kInvalid, GetParam().words,
                   [&] { PartialAllreduce<float> rounds(world, 3, GetParam().options); });
    expect_usable(world);
  });
}

const WrongOptions kWrongOptions[] = {
    {"CountAboveRanks", {.trigger = count(4)}, {"count(4)", "3 ranks", "from 1 to 3"}},
    {"CountZero", {.trigger = count(0)}, {"count(0)", "from 1 to 3"}},
    {"CountNegative", {.trigger = count(-2)}, {"count(-2)", "from 1 to 3"}},
    {"WindowNegative", {.window = -1}, {"window is -1", "from 1 to 250"}},
    {"WindowZero", {.window = 0}, {"window is 0", "from 1 to 250"}},
    {"WindowTooLarge", {.window = 251}, {"window is 251", "from 1 to 250"}},
    {"GraceNegative", {.grace = grace(-1ms)}, {"grace is -1000000 ns", "from 0"}},
    {"GraceForEver", {.grace = grace(Duration::max())}, {"grace", "one hour"}},
    {"ShareNegative", {.grace = {.share = -0.5}}, {"share", "-0.5", "from 0 to 10"}},
    {"ShareNotANumber", {.grace = {.share = std::nan("")}}, {"share", "nan", "from 0 to 10"}},
    {"ShareInfinite",
     {.grace = automatic_grace(std::numeric_limits<double>::infinity())},
     {"share", "inf", "from 0 to 10"}},
    {"TriggerThatThereIsNot",
     {.trigger = {.kind = static_cast<Trigger::Kind>(4)}},
     {"trigger is number 4", "by its name"}},
    {"ScaleThatThereIsNot",
     {.scale = static_cast<Scale>(200)},
     {"scale is number 200", "by its name"}},
    {"DropsEverything", {.late = drop_older_than(0)}, {"older than 0", "at least 1"}},
};

INSTANTIATE_TEST_SUITE_P(, BadOptions, ::testing::ValuesIn(kWrongOptions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BadTypes, ThatThereAreNotAreRefused) {
  World world = World::threads(1)[0];
  constexpr auto kOdd = static_cast<DataType>(4);
  const float initial = 1;
  expect_refused(kInvalid, {"data type is number 4"},
                 [&] { detail::make_partial(world, 1, kOdd, {}); });
  expect_refused(kInvalid, {"data type is number 4"},
                 [&] { detail::make_group(world, 1, kOdd, &initial, {}); });
  expect_usable(world);
}

TEST(BadSizes, ThatNoMemoryCanHoldAreRefused) {
  on_threads(2, [](World& world) {
    const auto make = [&](std::size_t elements) {
      return [&world, elements] { PartialAllreduce<double> rounds(world, elements); };
    };
    expect_refused(kInvalid, {"18446744073709551615 elements"}, make(std::size_t(-1)));
    expect_refused(kInvalid, {"4611686018427387904 elements"}, make(std::size_t{1} << 62));
    expect_refused(ErrorCode::out_of_memory, {"MiB", "available", "fewer"},
                   make(std::size_t{1} << 39));
    expect_usable(world);
  });
}

/// Rank 1 of three makes something else; every rank must hear of it, and of whom.
void expect_mismatch(const std::function<void(World&)>& usual,
                     const std::function<void(World&)>& odd,
                     const std::vector<std::string>& common_words) {
  on_threads(3, [&](World& world) {
    std::vector<std::string> words = common_words;
    words.push_back(world.rank() == 1 ? "rank 0" : "rank 1");
    expect_refused(kMismatch, words, [&] { world.rank() == 1 ? odd(world) : usual(world); });
    expect_usable(world);
  });
}

template <typename T = float>
auto partial(std::size_t elements, PartialOptions options = {}) {
  return
      [elements, options](World& world) { PartialAllreduce<T> rounds(world, elements, options); };
}

TEST(Mismatch, OfLengths) {
  expect_mismatch(partial(10), partial(11), {"10 float32", "11 float32"});
}

TEST(Mismatch, OfTypes) {
  expect_mismatch(partial<float>(10), partial<double>(10), {"10 float32", "10 float64"});
  expect_mismatch(partial<float16>(10), partial<bfloat16>(10), {"10 float16", "10 bfloat16"});
}

TEST(Mismatch, OfTriggers) {
  expect_mismatch(partial(1), partial(1, {.trigger = first()}), {"trigger all", "trigger first"});
  expect_mismatch(partial(1, {.trigger = count(1)}), partial(1, {.trigger = count(2)}),
                  {"count:1", "count:2"});
  expect_mismatch(partial(1, {.trigger = majority(1)}), partial(1, {.trigger = majority(2)}),
                  {"majority:1", "majority:2"});
}

TEST(Mismatch, OfPolicies) {
  expect_mismatch(partial(1), partial(1, {.late = drop()}), {"late carry", "late drop"});
  expect_mismatch(partial(1), partial(1, {.grace = grace(2ms)}), {"grace off", "2000000ns"});
  expect_mismatch(partial(1), partial(1, {.scale = Scale::none}), {"scale ranks", "scale none"});
  expect_mismatch(partial(1), partial(1, {.window = 9}), {"window 8", "window 9"});
}

TEST(Mismatch, OfKinds) {
  const auto barrier = [](World& world) { world.barrier(); };
  const auto broadcast = [](int root, std::size_t bytes) {
    return [=](World& world) {
      std::vector<char> data(bytes);
      world.broadcast(std::span(data), root);
    };
  };
  const auto group = [](World& world) {
    const std::vector<float> weights(10);
    GroupAverage<float> average(world, weights);
  };
  expect_mismatch(partial(10), group, {"partial allreduce", "group average"});
  expect_mismatch(partial(10), barrier, {"partial allreduce", "barrier"});
  expect_mismatch(barrier, broadcast(0, 5), {"barrier", "broadcast of 5 bytes"});
  expect_mismatch(broadcast(0, 6), broadcast(0, 5), {"6 bytes", "5 bytes"});
  expect_mismatch(broadcast(0, 5), broadcast(2, 5), {"from rank 0", "from rank 2"});
}

TEST(OneBadRank, LeavesTheWorldUsable) {
  // The rank that was refused has not taken part; with good options it joins the others.
  on_threads(3, [](World& world) {
    if (world.rank() == 2) {
      expect_refused(kInvalid, {"window is 0"},
                     [&] { PartialAllreduce<float> rounds(world, 3, {.window = 0}); });
    }
    expect_usable(world);
  });
}

class BadDeposits : public ::testing::Test {
 protected:
  World world_ = World::threads(1).front();
};

TEST_F(BadDeposits, WithAWrongBufferAreRefused) {
  PartialAllreduce<float> rounds(world_, 3);
  const std::vector<float> four(4);
  expect_refused(kInvalid, {"4 elements", "3"}, [&] { rounds.exchange(four).pass(); });
  expect_refused(kInvalid, {"2 elements", "3"},
                 [&] { rounds.start(std::span<const float>(four).first(2)); });
  expect_refused(kInvalid, {"null", "3 elements"}, [&] {
    rounds.exchange(std::span<const float>(static_cast<const float*>(nullptr), 3)).pass();
  });
  expect_refused(kInvalid, {"0 elements", "3"},
                 [&] { rounds.exchange(std::vector<float>{}).pass(); });
  expect_refused(kInvalid, {"0 elements", "3"}, [&] { rounds.start(std::span<const float>()); });
  expect_usable(world_);
}

TEST_F(BadDeposits, OfNothingIntoAnEmptyCollectiveAreFine) {
  PartialAllreduce<float> rounds(world_, 0);
  EXPECT_EQ(rounds.exchange(std::span<const float>()).front().mean().size(), 0U);
}

TEST_F(BadDeposits, WithAWrongWeightAreRefusedAndNothingIsDeposited) {
  PartialAllreduce<float> rounds(world_, 1, {.scale = Scale::none});
  const std::vector<float> one{1.0F};
  for (const double weight : {std::nan(""), -1.0, -0.001, HUGE_VAL, -HUGE_VAL}) {
    expect_refused(kInvalid, {"weight", "finite", "not negative"},
                   [&] { rounds.exchange(one, weight).pass(); });
    expect_refused(kInvalid, {"weight"}, [&] { rounds.start(weight); });
  }
  EXPECT_EQ(rounds.exchange(one).front().sum()[0], 1.0F);
}

TEST_F(BadDeposits, AfterTheEndAreRefused) {
  const std::vector<float> one{1.0F};
  for (const bool leaves : {true, false}) {
    PartialAllreduce<float> rounds(world_, 1);
    rounds.exchange(one).pass();
    if (leaves) {
      rounds.leave();
    } else {
      rounds.finish([](const Round<float>&) {});
    }
    constexpr ErrorCode kClosed = ErrorCode::closed;
    expect_refused(kClosed, {"finish() or leave()", "Make a new one"},
                   [&] { rounds.exchange(one).pass(); });
    expect_refused(kClosed, {}, [&] { rounds.slot(); });
    expect_refused(kClosed, {}, [&] { rounds.start(one); });
    expect_refused(kClosed, {}, [&] { rounds.start_empty(); });
    expect_refused(kClosed, {}, [&] { rounds.ready(); });
    expect_refused(kClosed, {}, [&] { rounds.wait().pass(); });
    expect_refused(kClosed, {}, [&] { rounds.leave(); });
    expect_refused(kClosed, {}, [&] { rounds.finish([](const Round<float>&) {}); });
  }
  expect_usable(world_);
}

TEST_F(BadDeposits, ReadWithTheWrongAccessorAreRefused) {
  const std::vector<float> one{1.0F};
  PartialAllreduce<float> sums(world_, 1, {.scale = Scale::none});
  const Rounds<float> sum = sums.exchange(one);
  expect_refused(kInvalid, {"mean()", "not scaled", "sum()"}, [&] { sum.front().mean(); });
  PartialAllreduce<float> means(world_, 1, {.scale = Scale::weight});
  const Rounds<float> mean = means.exchange(one);
  expect_refused(kInvalid, {"sum()", "weight", "mean()"}, [&] { mean.front().sum(); });
}

TEST(BadCalls, OfTheWorldAreRefused) {
  on_threads(2, [](World& world) {
    std::vector<float> data(3);
    for (const int root : {-1, 2, 1000}) {
      expect_refused(kInvalid, {"root", std::to_string(root), "from 0 to 1"},
                     [&] { world.broadcast(std::span(data), root); });
    }
    expect_refused(kInvalid, {"null"},
                   [&] { world.broadcast(std::span(static_cast<float*>(nullptr), 3), 0); });
    expect_refused(kInvalid, {"timeout"}, [&] { world.set_timeout(0ns); });
    expect_refused(kInvalid, {"timeout"}, [&] { world.set_timeout(-1s); });
    world.set_timeout(Duration::max());  // For ever, or as good as.
    expect_usable(world);
  });
  for (const int ranks : {0, -1, 1025}) {
    expect_refused(kInvalid, {std::to_string(ranks), "from 1 to 1024"},
                   [&] { World::threads(ranks); });
  }
}

}  // namespace
}  // namespace syncopate::testing

// How often a deposit counts: means are right at the ends of what is allowed, whatever the type,
// and what counts no times does not show.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/crew.h"
#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

constexpr double kSmallest = 1e-12;
constexpr double kLargest = 1e12;

template <typename T>
class Weights : public ::testing::Test {};
using Types = ::testing::Types<float, double, bfloat16, float16>;
TYPED_TEST_SUITE(Weights, Types);

/// Short ones go another way between machines than long ones; two ranks settle the shortest.
constexpr std::size_t kLengths[] = {1, 5000};

/// Two ranks deposit `values` with `weights`, `deposits` times before a round has them.
template <typename T>
void expect_mean(std::vector<World> worlds, std::size_t elements, std::vector<double> weights,
                 std::vector<double> values, int deposits) {
  double sum = 0;
  double total = 0;
  for (std::size_t rank = 0; rank < worlds.size(); ++rank) {
    sum += weights[rank] * values[rank] / weights[0];
    total += weights[rank] / weights[0];
  }
  on_threads(std::move(worlds), [&](World& world) {
    PartialAllreduce<T> rounds(world, elements, {.trigger = all(), .scale = Scale::weight});
    const auto value = static_cast<float>(values[world.rank()]);
    const std::vector<T> mine(elements, static_cast<T>(value));
    if (world.rank() == 0) {
      for (int i = 1; i < deposits; ++i) rounds.start(mine, weights[world.rank()] / deposits);
      rounds.start(mine, weights[world.rank()] / deposits);
    }
    world.barrier();
    if (world.rank() != 0) rounds.start(mine, weights[world.rank()]);
    const Rounds<T> done = rounds.wait();
    const double expected = sum / total;
    for (const T result : done.front().mean()) {
      ASSERT_NEAR(static_cast<float>(result), expected, std::abs(expected) * 0.02);
    }
  });
}

std::vector<World> two_machines() { return machines_of_threads({1, 1}, false, memory_fabrics(2)); }

TYPED_TEST(Weights, AtTheEndsOfWhatIsAllowedGiveTheMean) {
  for (const std::size_t elements : kLengths) {
    for (const double weight : {kSmallest * 4, 1.0, kLargest / 2}) {
      for (const int deposits : {1, 3}) {
        SCOPED_TRACE(std::to_string(weight) + ", " + std::to_string(deposits) + " deposits of " +
                     std::to_string(elements));
        // Equal weights, and such that one of them hardly counts.
        for (const double other : {weight, weight == 1.0 ? kLargest : 1.0}) {
          expect_mean<TypeParam>(World::threads(2), elements, {weight, other}, {3, -1}, deposits);
          expect_mean<TypeParam>(two_machines(), elements, {weight, other}, {3, -1}, deposits);
        }
      }
    }
  }
}

TYPED_TEST(Weights, OfNothingGiveZeros) {
  for (const std::size_t elements : kLengths) {
    on_threads(3, [&](World& world) {
      PartialAllreduce<TypeParam> rounds(world, elements,
                                         {.trigger = all(), .scale = Scale::weight});
      const std::vector<TypeParam> mine(elements, static_cast<TypeParam>(7.0F));
      const Rounds<TypeParam> done = rounds.exchange(mine, 0);
      for (const TypeParam result : done.front().mean())
        ASSERT_EQ(static_cast<float>(result), 0.0F);
      EXPECT_EQ(done.front().receipt().contributors.size(), 3);
      EXPECT_EQ(done.front().receipt().weight, 0);
    });
  }
}

TYPED_TEST(Weights, OfZeroHideWhatIsNoNumber) {
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity()};
  for (const std::size_t elements : kLengths) {
    for (const Scale scale : {Scale::none, Scale::ranks, Scale::contributors, Scale::weight}) {
      for (const bool machines : {false, true}) {
        SCOPED_TRACE(to_string(scale));
        on_threads(
            machines ? machines_of_threads({2, 1}, false, memory_fabrics(2)) : World::threads(3),
            [&](World& world) {
              PartialAllreduce<TypeParam> rounds(world, elements,
                                                 {.trigger = all(), .scale = scale});
              const bool counts = world.rank() == 1;
              const float value = counts ? 6.0F : odd[world.rank() / 2];
              const std::vector<TypeParam> mine(elements, static_cast<TypeParam>(value));
              // Twice, so that deposits are added to each other.
              rounds.start(mine, counts ? 0.5 : 0);
              rounds.start(mine, counts ? 0.5 : 0);
              world.barrier();
              double sum = 0;
              double weight = 0;
              const auto add = [&](const Round<TypeParam>& round) {
                EXPECT_EQ(round.receipt().contributors.size(), 3);
                weight += round.receipt().weight;
                for (const TypeParam result : scale == Scale::none ? round.sum() : round.mean()) {
                  sum += static_cast<float>(result);
                }
              };
              for (const auto& round : rounds.wait()) add(round);
              const double parts = scale == Scale::ranks || scale == Scale::contributors ? 3 : 1;
              EXPECT_NEAR(sum / static_cast<double>(elements), 6 / parts, 0.02);
              EXPECT_EQ(weight, 1);
            });
      }
    }
  }
}

TEST(WeightsRefused, AreThoseThatOverflowOrVanish) {
  World world = World::threads(1)[0];
  PartialAllreduce<float> rounds(world, 1, {.scale = Scale::weight});
  const std::vector<float> one{1.0F};
  for (const double weight :
       {1e-300, kSmallest / 2, kLargest * 2, 1e300, std::numeric_limits<double>::denorm_min(),
        std::numeric_limits<double>::max()}) {
    expect_refused(ErrorCode::invalid_argument, {"the weight of a deposit is", "1e-12", "1e+12"},
                   [&] { rounds.exchange(one, weight).front(); });
    expect_refused(ErrorCode::invalid_argument, {"the weight of a deposit is"},
                   [&] { rounds.start(one, weight); });
  }
  // A sum of many may weigh more, and as little.
  rounds.restore(std::vector<float>{1e15F}, 1e15);
  EXPECT_EQ(rounds.exchange(one, kSmallest).front().mean()[0], 1.0F);
  expect_refused(ErrorCode::invalid_argument, {"the weight"}, [&] { rounds.restore(one, 1e30); });
}

}  // namespace
}  // namespace syncopate::testing

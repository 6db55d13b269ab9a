// Every strategy with ranks that mpirun started, on as many machines as it says: they come to the
// optimum with the same weights everywhere, and every step of every rank has been counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

#include "strategy/names.h"
#include "strategy/play.h"
#include "strategy/problems.h"
#include "support/common.h"
#include "support/mpirun.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 80;
constexpr int kMostRanks = 8;
/// What is left of a way of 7.4; how fast it goes is not a test's business.
constexpr double kNear = 0.3;

/// Prints of the weights: after each exchange that is agreed on, and at the end; zero: no rank
/// came.
struct Prints {
  std::atomic<std::size_t> agreed[kSteps * kMostRanks + 2];
  std::atomic<std::size_t> end;
};

/// The first to come says what the weights are, the others compare.
void compare(std::atomic<std::size_t>& known, std::span<const float> weights,
             const std::string& when) {
  const std::size_t print =
      1 | std::hash<std::string_view>()(
              {reinterpret_cast<const char*>(weights.data()), weights.size_bytes()});
  std::size_t before = 0;
  EXPECT_TRUE(known.compare_exchange_strong(before, print) || before == print)
      << "the weights differ " << when;
}

/// With what has to be given: a bit more than half of the ranks.
std::string with_parameters(const StrategyDescription& strategy, int ranks) {
  std::string text = strategy.name;
  for (const ParameterDescription& parameter : strategy.parameters) {
    if (parameter.standard.empty()) text += ":" + std::to_string(ranks / 2 + 1);
  }
  return text;
}

void train(World& world, const std::string& strategy, Prints& prints) {
  const Quadratic problem;
  VectorLearner learner(Vector(problem.optimum().size()), {.rate = 0.1F, .momentum = 0.5F});
  double counted = 0;
  learner.on_exchange = [&](const VectorLearner::Told& told) {
    counted += double(told.exchange.dropped);
    if (!told.exchange.agreed) return;
    counted += told.notes.front();
    compare(prints.agreed[told.exchange.number], learner.weights(),
            "after exchange " + std::to_string(told.exchange.number));
  };
  const auto made = make_strategy(strategy, {.world = world, .learner = learner, .notes = 1});
  const bool slow = world.rank() == world.size() - 1;
  const Duration time = slow ? 4ms : 1ms;
  for (unsigned step = 0; step < kSteps; ++step) {
    dawdle(slow ? 40 : 10, step);
    take_step(
        *made, learner,
        [&](auto weights, std::span<float> gradient) {
          std::ranges::fill(gradient, 0);
          for (int part = 0; part < made->parts(); ++part) {
            Vector whole(gradient.size());
            problem.add_gradient(world.rank() + part, weights, whole);
            for (std::size_t i = 0; i < whole.size(); ++i) gradient[i] += whole[i] / made->parts();
            if (made->enough(time * (part + 1) / made->parts())) break;
          }
          made->notes()[0] = 1;
        },
        time);
  }
  made->finish();
  compare(prints.end, learner.weights(), "at the end");
  EXPECT_NEAR(counted, kSteps * world.size(), 0.01);
  EXPECT_LT(distance(learner.weights(), problem.optimum()), kNear);
}

class Strategies : public ::testing::TestWithParam<StrategyDescription> {};

TEST_P(Strategies, ComeToTheSameOptimumOnAllMachinesAndCountEveryStep) {
  const std::string strategy = with_parameters(GetParam(), mpirun_ranks());
  const Common<Prints> prints;
  on_mpirun(mpirun_ranks(), [&](World& world) { train(world, strategy, *prints); });
}

INSTANTIATE_TEST_SUITE_P(, Strategies, ::testing::ValuesIn(strategies()),
                         [](const auto& test) { return test_name(test.param.name); });

}  // namespace
}  // namespace syncopate::testing

int main(int count, char** arguments) {
  return syncopate::testing::run_tests_under_mpirun(count, arguments);
}

// Thousands of checkpoints that fit together and are wrong, from a fixed seed, through the code
// that resumes runs: each is refused in a sentence, or trained on with; none harms the process.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "strategy/names.h"
#include "syncopate/error.h"
#include "train/checkpoint.h"
#include "train/craft.h"
#include "train/optimizers.h"
#include "train/temporary_folder.h"
#include "train/trainer.h"

namespace syncopate::testing {
namespace {

namespace fs = std::filesystem;
using namespace train;

constexpr const char* kPart = "checkpoint/rank-0.safetensors";

Draw draw_from(std::minstd_rand& random) {
  return [&random](std::uint32_t below) { return std::uint32_t(random() % below); };
}

void write(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// What became of crafted files.
struct Tally {
  int refused = 0;
  int taken = 0;

  /// Calls `resume`: an Error is an answer, anything else is a mistake.
  void count(const std::string& what, const std::function<void()>& resume) {
    try {
      resume();
      ++taken;
    } catch (const Error& error) {
      ++refused;
      EXPECT_FALSE(error.what_to_do().empty()) << error.what();
      EXPECT_EQ(std::string(error.what()).find("exception"), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
  }
};

struct Small : torch::nn::Module {
  Small() {
    register_module("linear", torch::nn::Linear(3, 2));
    register_module("norm", torch::nn::BatchNorm1d(2));
  }
};

class CraftedCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(CraftedCheckpoint, IsRefusedOrFitsTheModelAndTheOptimizer) {
  const TemporaryFolder folder;
  const World world = World::threads(1)[0];
  CollectiveIo together(world);
  Config config{.optimizer = GetParam(), .rate = 0.1};
  if (config.optimizer != "sgd") config.momentum = 0;
  const auto made = [&](Small& model) { return make_optimizer(config, model.parameters()); };
  Checkpoints checkpoints(world, together, folder.path(), "small");
  Small model;
  const auto optimizer = made(model);
  for (const torch::Tensor& parameter : model.parameters()) {
    parameter.mutable_grad() = torch::ones_like(parameter);
  }
  optimizer->step();
  Snapshot snapshot{.part = {.weights = std::vector<float>(12, 1),
                             .heading = Part::Heading{.before = std::vector<float>(12, 2)},
                             .strategy = {.entries = {{"rounds", {Sharing::same, 1.0}}}}},
                    .statistics = model.buffers()};
  checkpoints.save(snapshot, *optimizer);
  const std::string whole = text_of(folder.path() / kPart);

  std::minstd_rand random(7);
  Tally tally;
  for (int i = 0; i < 1200; ++i) {
    write(folder.path() / kPart, Crafted(whole, draw_from(random)).bytes());
    Small another;
    const auto its = made(another);
    tally.count(std::to_string(i), [&] {
      const Snapshot read = checkpoints.load(*its, another.buffers());
      EXPECT_EQ(read.part.weights.size(), 12U);
      EXPECT_EQ(read.statistics.size(), another.buffers().size());
      for (const torch::Tensor& parameter : another.parameters()) {
        parameter.mutable_grad() = torch::ones_like(parameter);
      }
      its->step();
    });
  }
  EXPECT_GT(tally.refused, 600);
  EXPECT_GT(tally.taken, 20) << "some of what is changed may be changed";
}

INSTANTIATE_TEST_SUITE_P(Of, CraftedCheckpoint, ::testing::Values("sgd", "adam", "adamw"),
                         [](const auto& one) { return std::string(one.param); });

class CraftedRun : public ::testing::TestWithParam<const char*> {};

Config small_run(const std::string& strategy) {
  return {.workload = "hyperplane",
          .model = "linear",
          .strategy = strategy,
          .strategy_in_full = spell_out_strategy(strategy),
          .ranks = 1,
          .batch = 2,
          .rate = 1e-4,
          .until = {.kind = Until::Kind::rounds, .amount = 4},
          .evaluate_every = 0,
          .checkpoint_every = 0,
          .metrics = false};
}

TEST_P(CraftedRun, IsRefusedOrGoesOn) {
  const TemporaryFolder folder;
  Config config = small_run(GetParam());
  Trainer(World::threads(1)[0], config, folder.path(), {}).run();
  const std::string whole = text_of(folder.path() / kPart);
  std::minstd_rand random(11);
  Tally tally;
  for (int i = 0; i < 200; ++i) {
    write(folder.path() / kPart, Crafted(whole, draw_from(random)).bytes());
    tally.count(std::to_string(i), [&] {
      config.until.amount = 6;
      Trainer trainer(World::threads(1)[0], config, folder.path(), {.resume = true});
      if (i % 16 == 0) trainer.run();
    });
  }
  EXPECT_GT(tally.refused, 100);
  EXPECT_GT(tally.taken, 2);
}

INSTANTIATE_TEST_SUITE_P(With, CraftedRun,
                         ::testing::Values("sync:ahead=1", "eager-solo", "local:2",
                                           "post-local:2:2", "biased-local:2", "wagma:1:2",
                                           "dropcompute:1s"),
                         name_by_strategy);

}  // namespace
}  // namespace syncopate::testing

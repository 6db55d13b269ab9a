// Statistics that are not trained are averaged over the ranks where the model is judged.
#include "train/evaluation.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "support/ranks.h"
#include "train/made_up.h"

namespace syncopate::train {
namespace {

constexpr int kRanks = 3;

class Evaluated : public ::testing::Test {
 protected:
  Evaluated() {
    torch::set_num_threads(1);
    testing::write_idx(folder_.path() / "mnist", "train", 50);
    testing::write_idx(folder_.path() / "mnist", "t10k", 20);
  }

  /// Each rank has a model of its own with statistics of its own: its rank, and one more for each
  /// number of the buffer.
  void on_ranks(const std::function<void(World&, Task&, Evaluator&)>& body) const {
    testing::on_threads(kRanks, [&](World& world) {
      world.set_timeout(std::chrono::seconds(30));
      const auto task =
          make_task(workload("mnist"), {.data = folder_.path(), .model = "resnet8", .seed = 1});
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& buffer : statistics(*task)) {
        buffer.copy_(torch::arange(buffer.numel()).add(world.rank() + 1).view(buffer.sizes()));
      }
      Evaluator evaluator(world, *task, torch::kCPU);
      body(world, *task, evaluator);
    });
  }

  static std::vector<torch::Tensor> statistics(Task& task) {
    std::vector<torch::Tensor> found;
    for (const torch::Tensor& buffer : task.model().buffers()) {
      if (buffer.is_floating_point()) found.push_back(buffer);
    }
    EXPECT_FALSE(found.empty());
    return found;
  }

  /// One process with these statistics, on all test samples.
  Score reference(double statistic) const {
    const auto task =
        make_task(workload("mnist"), {.data = folder_.path(), .model = "resnet8", .seed = 1});
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& buffer : statistics(*task)) {
      buffer.copy_(torch::arange(buffer.numel()).add(statistic).view(buffer.sizes()));
    }
    task->model().eval();
    std::vector<std::int64_t> samples(std::size_t(task->test_samples()));
    std::iota(samples.begin(), samples.end(), 0);
    return task->score(task->test_batch(samples));
  }

  static void expect_means(Task& task) {
    for (const torch::Tensor& buffer : statistics(task)) {
      const torch::Tensor mean = torch::arange(buffer.numel()).add(2).view(buffer.sizes());
      EXPECT_TRUE(torch::allclose(buffer, mean.to(torch::kFloat32))) << buffer;
    }
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Evaluated, StatisticsAreTheMeanOfTheRanks) {
  on_ranks([](World&, Task& task, Evaluator& evaluator) {
    evaluator.average_statistics();
    expect_means(task);
    evaluator.average_statistics();
    expect_means(task);
  });
}

TEST_F(Evaluated, ModelsAreJudgedWithThemAndAllRanksHearTheSame) {
  std::vector<Evaluation> heard(kRanks);
  on_ranks([&](World& world, Task& task, Evaluator& evaluator) {
    heard[world.rank()] = evaluator.evaluate(1.5 * world.rank(), 100);
    expect_means(task);
    EXPECT_TRUE(task.model().is_training()) << "training goes on";
  });
  const Score score = reference(2);
  for (const Evaluation& one : heard) {
    EXPECT_EQ(one.seconds, 1.5 * (kRanks - 1)) << "the clock of who has trained longest";
    EXPECT_EQ(one.samples, 100);
    EXPECT_NEAR(one.loss, score.losses.mean().item<double>(), 1e-4);
    EXPECT_NEAR(one.accuracy, 100 * score.hits.mean().item<double>(), 1e-4);
  }
}

TEST_F(Evaluated, ByAllTestSamplesAlsoWhereARankIsGone) {
  std::vector<Evaluation> heard(kRanks);
  on_ranks([&](World& world, Task&, Evaluator& evaluator) {
    if (world.rank() == 1) return;
    heard[world.rank()] = evaluator.evaluate(world.rank(), 100);
  });
  const Score score = reference(2);  // The mean of what ranks 0 and 2 have.
  for (const int rank : {0, 2}) {
    EXPECT_EQ(heard[rank].seconds, 2);
    EXPECT_NEAR(heard[rank].loss, score.losses.mean().item<double>(), 1e-4);
    EXPECT_NEAR(heard[rank].accuracy, 100 * score.hits.mean().item<double>(), 1e-4);
  }
}

}  // namespace
}  // namespace syncopate::train

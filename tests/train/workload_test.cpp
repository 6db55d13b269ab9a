// What every workload promises to a trainer.
#include "train/workload.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "support/refusal.h"
#include "train/data/video.h"
#include "train/made_up.h"
#include "train/sampler.h"

namespace syncopate::train {
namespace {

std::vector<std::int64_t> first(std::int64_t count) {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

std::unique_ptr<Task> make(const std::string& name, const std::string& model,
                           const std::filesystem::path& data, std::uint64_t seed = 1) {
  return make_task(workload(name), {.data = data, .model = model, .seed = seed});
}

bool same(const torch::nn::Module& one, const torch::nn::Module& other) {
  const auto left = one.parameters(), right = other.parameters();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!torch::equal(left[i], right[i])) return false;
  }
  return left.size() == right.size();
}

/// A step of gradient descent on these samples; returns the mean loss before it.
double step(Task& task, const Batch& batch, double rate) {
  task.model().train();
  task.model().zero_grad();
  const torch::Tensor loss = task.score(batch).losses.mean();
  loss.backward();
  const torch::NoGradGuard no_graph;
  for (auto& weights : task.model().parameters()) weights.sub_(weights.grad(), rate);
  return loss.item<double>();
}

struct Case {
  std::string workload, model;
};

/// Every workload with every model that is quick enough, on made-up files where it needs any. One
/// test goes through them all, because each test is a process, and loading torch takes longer than
/// the test.
class EveryWorkload : public ::testing::Test {
 protected:
  EveryWorkload() {
    torch::set_num_threads(1);
    for (const char* set : {"mnist", "fashion"}) {
      testing::write_idx(folder_.path() / set, "train", 50);
      testing::write_idx(folder_.path() / set, "t10k", 20);
    }
    testing::write_cifar(folder_.path());
  }

  using Make = std::function<std::unique_ptr<Task>(std::uint64_t seed)>;

  void check(const std::function<void(const Make&)>& promise) const {
    for (const Case& one :
         {Case{"hyperplane", "linear"}, Case{"mnist", "cnn"}, Case{"mnist", "resnet8"},
          Case{"fashion", "cnn"}, Case{"cifar10", "resnet20"}, Case{"video", "lstm"}}) {
      SCOPED_TRACE(one.workload + " " + one.model);
      promise(
          [&](std::uint64_t seed) { return make(one.workload, one.model, folder_.path(), seed); });
    }
  }

  testing::TemporaryFolder folder_;
};

TEST_F(EveryWorkload, LearnsFromAStep) {
  check([](const Make& make_one) {
    const auto task = make_one(1);
    const Batch batch = task->train_batch(first(8));
    constexpr double kRate = 1e-4;  // Eight samples of hyperplane allow for less than 1e-3.
    const double before = step(*task, batch, kRate);
    EXPECT_LT(step(*task, batch, kRate), before);
  });
}

TEST_F(EveryWorkload, IsTheSameOnAllRanksAndOtherwiseWithAnotherSeed) {
  check([](const Make& make_one) {
    const auto one = make_one(1), other = make_one(1), another = make_one(2);
    EXPECT_TRUE(same(one->model(), other->model()));
    EXPECT_FALSE(same(one->model(), another->model()));
    for (int i = 0; i < 2; ++i) {
      const auto samples = first(4 + i);
      EXPECT_EQ(step(*one, one->train_batch(samples), 1e-3),
                step(*other, other->train_batch(samples), 1e-3));
    }
    EXPECT_TRUE(same(one->model(), other->model()));
  });
}

TEST_F(EveryWorkload, GivesLossAndHitOfEachSample) {
  check([](const Make& make_one) {
    const auto task = make_one(1);
    task->model().eval();
    const Batch batch = task->test_batch(first(5));
    const Score score = task->score(batch);
    EXPECT_EQ(score.losses.sizes(), torch::IntArrayRef({5}));
    EXPECT_EQ(score.hits.sizes(), torch::IntArrayRef({5}));
    EXPECT_TRUE(score.losses.requires_grad());
    EXPECT_FALSE(score.hits.requires_grad());

    // A sample scores the same alone as among others.
    const std::vector<std::int64_t> alone = {3};
    const Score single = task->score(task->test_batch(alone));
    EXPECT_NEAR(single.losses[0].item<float>(), score.losses[3].item<float>(), 1e-4);
    EXPECT_EQ(single.hits[0].item<float>(), score.hits[3].item<float>());
  });
}

TEST_F(EveryWorkload, CountsOnFromTheFirstSample) {
  check([](const Make& make_one) {
    const auto task = make_one(1);
    const std::vector<std::int64_t> once = {2}, again = {2 + task->train_samples()};
    EXPECT_TRUE(torch::equal(task->train_batch(once).targets, task->train_batch(again).targets));
    EXPECT_EQ(task->work(once), task->work(again));
  });
}

TEST(Cifar10Workload, DisturbsAPictureAnewInEachPass) {
  const testing::TemporaryFolder folder;
  testing::write_cifar(folder.path());
  const auto task = make("cifar10", "resnet32", folder.path());
  // Numbered as an epoch's samples are, and those that a strategy draws.
  const auto picture = [&](std::uint64_t pass) {
    return task->train_batch(number_onwards({10000}, pass, task->train_samples())).inputs;
  };
  EXPECT_TRUE(torch::equal(picture(0), picture(0)));
  int different = 0;
  for (int pass = 1; pass < 6; ++pass) different += !torch::equal(picture(0), picture(pass));
  EXPECT_GE(different, 4);
}

TEST(VideoWorkload, CountsFramesAndPadsWithZeros) {
  const auto task = make("video", "", "");
  const Videos videos(1);
  const auto samples = first(6);
  const Batch batch = task->train_batch(samples);
  double frames = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    frames += videos.frames(i);
    const std::int64_t clips = videos.clips(i);
    EXPECT_EQ(batch.lengths[i].item<std::int64_t>(), clips);
    EXPECT_EQ(batch.targets[i].item<std::int64_t>(), videos.label(i));
    EXPECT_TRUE(batch.inputs[i][clips - 1].ne(0).all().item<bool>());
    EXPECT_TRUE(batch.inputs[i].slice(0, clips).eq(0).all().item<bool>());
  }
  EXPECT_EQ(task->work(samples), frames);
}

TEST(VideoWorkload, DoesNotSeeWhatIsAfterTheEnd) {
  const auto task = make("video", "", "");
  Batch batch = task->train_batch(first(6));
  const Score score = task->score(batch);
  for (std::int64_t i = 0; i < 6; ++i) {
    batch.inputs[i].slice(0, batch.lengths[i].item<std::int64_t>()).fill_(1e3);
  }
  EXPECT_TRUE(torch::equal(task->score(batch).losses, score.losses));
}

TEST(WorkloadNames, UnknownAreRefusedWithThoseThatAre) {
  testing::expect_refused(ErrorCode::invalid_argument,
                          {"there is no workload 'imagenet'. Use one of: hyperplane, mnist, "
                           "fashion, cifar10, video."},
                          [] { workload("imagenet"); });
  testing::expect_refused(ErrorCode::invalid_argument,
                          {"the workload fashion has no model 'vgg'. Use one of: cnn, resnet8."},
                          [] { make("fashion", "vgg", ""); });
}

TEST(RealWorkload, FashionIsLearntInAHundredSteps) {
  const auto data = testing::real_data("fashion");
  if (data.empty()) GTEST_SKIP() << "run `make data` to have the real data sets";
  torch::set_num_threads(1);
  const auto task = make("fashion", "cnn", data);
  for (std::int64_t i = 0; i < 100; ++i) {
    auto samples = first(64);
    for (auto& sample : samples) sample += 64 * i;
    step(*task, task->train_batch(samples), 0.1);
  }
  task->model().eval();
  const Score score = task->score(task->test_batch(first(2000)));
  EXPECT_GT(score.hits.mean().item<double>(), 0.6);
}

}  // namespace
}  // namespace syncopate::train

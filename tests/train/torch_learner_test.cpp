// The learner by itself: one vector of weights, steps by mass, and weights that are anticipated.
#include <gtest/gtest.h>

#include <cmath>

#include "support/refusal.h"
#include "syncopate/torch.h"

namespace syncopate::train {
namespace {

using Vector = std::vector<float>;

torch::Tensor parameter(std::initializer_list<float> values) {
  return torch::tensor(Vector(values)).requires_grad_();
}

Vector read(const TorchLearner& learner) {
  Vector weights(learner.size());
  learner.read_weights(weights);
  return weights;
}

Vector values(const torch::Tensor& tensor) {
  const auto flat = tensor.detach().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

TEST(TorchLearner, ParametersAndGradientsAreViewsOfThePlacesGiven) {
  const torch::Tensor first = parameter({1, 2}), second = parameter({3, 4, 5});
  torch::optim::SGD optimizer({first, second}, 0.5);
  TorchLearner learner(optimizer);
  Vector weights = read(learner), gradient(5, 9.0F);
  EXPECT_EQ(weights, Vector({1, 2, 3, 4, 5}));
  learner.keep_weights_at(weights.data());
  EXPECT_EQ(first.data_ptr<float>(), weights.data());
  EXPECT_EQ(second.data_ptr<float>(), weights.data() + 2);

  learner.write_gradient_to(gradient.data());
  learner.zero_gradient();
  (first.sum() * 2 + second.square().sum()).backward();
  EXPECT_EQ(first.grad().data_ptr<float>(), gradient.data());
  EXPECT_EQ(gradient, Vector({2, 2, 6, 8, 10}));

  const Vector applied = gradient;
  learner.step(gradient, 1);
  EXPECT_EQ(weights, Vector({0, 1, 0, 0, 0}));
  EXPECT_EQ(gradient, applied) << "the gradient is not written to";

  learner.keep_weights_at(nullptr);
  weights.assign(5, 77);
  EXPECT_EQ(values(first), Vector({0, 1}));
  EXPECT_EQ(read(learner), Vector({0, 1, 0, 0, 0}));
}

TEST(TorchLearner, MomentumDecaysByTheMassOfARound) {
  constexpr double kRate = 0.1, kMomentum = 0.9, kDecay = 0.01;
  const torch::Tensor weights = parameter({1, -2});
  torch::optim::SGD optimizer(
      {weights}, torch::optim::SGDOptions(kRate).momentum(kMomentum).weight_decay(kDecay));
  TorchLearner learner(optimizer);
  double expected[] = {1, -2}, velocity[] = {0, 0};
  const std::pair<Vector, double> rounds[] = {
      {{0.5, 1}, 1}, {{0.25, -1}, 0.5}, {{1, 1}, 0.125}, {{2, 0.5}, 2}, {{-1, 0.5}, 1}};
  for (const auto& [gradient, mass] : rounds) {
    learner.step(gradient, mass);
    const double decay = std::pow(kMomentum, mass);
    for (int i = 0; i < 2; ++i) {
      velocity[i] = decay * velocity[i] + gradient[i] + kDecay * mass * expected[i];
      expected[i] -= kRate * (1 - decay) / (1 - kMomentum) * velocity[i];
      EXPECT_NEAR(values(weights)[i], expected[i], 1e-6) << "mass " << mass;
    }
    const auto& options =
        static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[0].options());
    EXPECT_EQ(options.lr(), kRate);
    EXPECT_EQ(options.momentum(), kMomentum);
    EXPECT_EQ(options.weight_decay(), kDecay);
  }
}

TEST(TorchLearner, WithoutMomentumMassChangesNothing) {
  const torch::Tensor weights = parameter({1});
  torch::optim::SGD optimizer({weights}, 0.5);
  TorchLearner learner(optimizer);
  learner.step(Vector{1}, 0.25);
  EXPECT_EQ(values(weights), Vector({0.5}));
}

TEST(TorchLearner, AnticipatesByWhatTheLastStepChangedAndSettlesToTheBit) {
  const torch::Tensor weights = parameter({1, 2});
  torch::optim::SGD optimizer({weights}, 0.1);
  TorchLearner learner(optimizer);
  learner.anticipate(3);
  EXPECT_EQ(values(weights), Vector({1, 2})) << "nothing is known before a step";
  learner.step(Vector{1, -0.7F}, 1);
  const Vector stepped = read(learner);
  learner.anticipate(2.5);
  EXPECT_NEAR(values(weights)[0], stepped[0] - 2.5 * 0.1, 1e-6);
  EXPECT_NEAR(values(weights)[1], stepped[1] + 2.5 * 0.07, 1e-6);
  EXPECT_EQ(read(learner), stepped) << "its own weights stay as they are";
  learner.settle();
  EXPECT_EQ(values(weights), stepped);

  // Of half a step it takes twice as many to come as far.
  learner.step(Vector{1, 0}, 0.5);
  const Vector half = read(learner);
  learner.anticipate(1);
  EXPECT_NEAR(values(weights)[0], half[0] - 2 * 0.1, 1e-6);
  learner.step(Vector{-1, 0}, 1);

  // A step is taken from the weights there are, not from those that were anticipated.
  learner.anticipate(2.5);
  learner.step(Vector{0, 0}, 1);
  EXPECT_EQ(values(weights), stepped);
  learner.anticipate(0);
  EXPECT_EQ(values(weights), stepped);
}

TEST(TorchLearner, AnticipatesTheSameToTheBitWithTheHeadingOfAnother) {
  const torch::Tensor first = parameter({1, 2}), second = parameter({1, 2});
  torch::optim::SGD optimizer({first}, torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::optim::SGD other({second}, torch::optim::SGDOptions(0.1).momentum(0.9));
  TorchLearner learner(optimizer), heir(other);
  EXPECT_FALSE(learner.heading());
  learner.anticipate(1);
  learner.step(Vector{1, -0.7F}, 0.375);
  const auto heading = learner.heading();
  ASSERT_TRUE(heading);
  EXPECT_EQ(heading->before, Vector({1, 2}));
  EXPECT_EQ(heading->mass, 0.375);
  heir.write_weights(read(learner));
  heir.set_heading(*heading);
  learner.anticipate(2.5);
  heir.anticipate(2.5);
  EXPECT_EQ(values(second), values(first));
  EXPECT_NE(values(second), read(heir));
}

TEST(TorchLearner, HasTheMomentumOfSgd) {
  const torch::Tensor weights = parameter({1});
  torch::optim::SGD plain({weights}, 0.1);
  torch::optim::SGD heavy({weights}, torch::optim::SGDOptions(0.1).momentum(0.5));
  torch::optim::Adam adam({weights});
  EXPECT_FALSE(TorchLearner(plain).has_momentum());
  EXPECT_TRUE(TorchLearner(heavy).has_momentum());
  EXPECT_FALSE(TorchLearner(adam).has_momentum());
}

TEST(TorchLearner, RateIsAFactorOfWhatTheOptimizerWasMadeWith) {
  const torch::Tensor first = parameter({1}), second = parameter({1});
  torch::optim::SGD optimizer({first, second}, 0.5);
  TorchLearner learner(optimizer);
  for (const double factor : {0.5, 0.25, 1.0, 0.25}) {
    learner.set_rate(factor);
    EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.5 * factor);
  }
}

/// A little of everything that a strategy does with a learner, on one device.
Vector course_on(torch::Device device) {
  const torch::Tensor first = torch::tensor(Vector{1, -2}, device).requires_grad_();
  const torch::Tensor second = torch::tensor(Vector{0.5F, 3, -1}, device).requires_grad_();
  torch::optim::SGD optimizer({first, second}, torch::optim::SGDOptions(0.1).momentum(0.9));
  TorchLearner learner(optimizer);
  Vector gradient(5), weights = read(learner), all;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) learner.keep_weights_at(weights.data());
    learner.anticipate(step * 0.75);
    learner.write_gradient_to(gradient.data());
    learner.zero_gradient();
    ((first * first).sum() + (second * second.cos()).sum()).backward();
    learner.flush_gradient();
    all.insert(all.end(), gradient.begin(), gradient.end());
    learner.step(gradient, step % 2 == 0 ? 1 : 0.5);
    learner.flush_weights();
    const Vector own = read(learner);
    if (step >= 3) {
      EXPECT_EQ(weights, own) << "they are where they are to be kept";
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  // What others have written there counts once it is told.
  weights.assign(5, 2);
  learner.keep_weights_at(weights.data());
  EXPECT_EQ(read(learner), weights);
  learner.keep_weights_at(nullptr);
  EXPECT_EQ(read(learner), Vector(5, 2));
  return all;
}

TEST(TorchLearner, GoesTheSameWayOnAGpu) {
  const Vector host = course_on(torch::kCPU);
  if (!torch::cuda::is_available()) GTEST_SKIP() << "there is no CUDA device";
  const Vector gpu = course_on(torch::kCUDA);
  ASSERT_EQ(gpu.size(), host.size());
  for (std::size_t i = 0; i < gpu.size(); ++i) EXPECT_NEAR(gpu[i], host[i], 1e-4) << i;
}

TEST(TorchLearner, ParametersItCannotTakeAreRefused) {
  const auto refused = [](const std::vector<torch::Tensor>& parameters, const char* words) {
    testing::expect_refused(ErrorCode::invalid_argument, {words}, [&] {
      torch::optim::SGD optimizer(parameters, 0.1);
      const TorchLearner learner(optimizer);
    });
  };
  refused({}, "no parameters");
  refused({torch::zeros({2}, torch::kDouble)}, "float32");
  refused({torch::zeros({2}), torch::zeros({2}, torch::kHalf)}, "float32");
}

}  // namespace
}  // namespace syncopate::train

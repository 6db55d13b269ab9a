// A strategy around torch's optimizers: the same training as in one process, replicas that are
// equal, and no copy between the model and the board.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>

#include "support/ranks.h"
#include "support/refusal.h"
#include "support/training.h"
#include "syncopate/torch.h"
#include "train/optimizers.h"

namespace syncopate::train {
namespace {

constexpr std::int64_t kInputs = 5;

void with_ranks(int ranks, const std::function<void(World&)>& body) {
  testing::on_threads(ranks, [&](World& world) {
    world.set_timeout(std::chrono::seconds(30));
    body(world);
  });
}

torch::nn::Sequential small_net() {
  return torch::nn::Sequential(torch::nn::Linear(kInputs, 4), torch::nn::Tanh(),
                               torch::nn::Linear(4, 1));
}

/// The same weights without any random generator, which threads would share.
void set_weights(torch::nn::Sequential& net, double phase) {
  const torch::NoGradGuard no_grad;
  for (auto& weights : net->parameters()) {
    weights.copy_(torch::arange(weights.numel()).add(phase).sin().mul(0.5).view(weights.sizes()));
  }
}

/// The loss of what `rank` sees in `step`.
torch::Tensor loss(torch::nn::Sequential& net, int rank, int step) {
  const auto inputs = torch::arange(3 * kInputs).add(7.0 * rank + 1.3 * step).sin();
  const auto outputs = net->forward(inputs.view({3, kInputs}));
  return (outputs - torch::arange(3).mul(0.3 * (rank + 1)).view({3, 1})).square().mean();
}

std::vector<float> weights_of(const torch::nn::Sequential& net) {
  std::vector<float> weights;
  for (const auto& parameter : net->parameters()) {
    const auto flat = parameter.detach().contiguous();
    weights.insert(weights.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return weights;
}

struct Case {
  std::string name;
  Config config;
};

const Case kOptimizers[] = {
    {"Sgd", {.rate = 0.05, .momentum = 0}},
    {"Momentum", {.rate = 0.05, .momentum = 0.9, .weight_decay = 0.01}},
    {"Nesterov", {.rate = 0.05, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}},
    {"Adam", {.optimizer = "adam", .rate = 0.01, .weight_decay = 0.01}},
    {"AdamW", {.optimizer = "adamw", .rate = 0.01, .weight_decay = 0.01}},
};

class EveryOptimizer : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { torch::set_num_threads(1); }
  static std::unique_ptr<torch::optim::Optimizer> optimizer(const torch::nn::Sequential& net) {
    return make_optimizer(GetParam().config, net->parameters());
  }
};

TEST_P(EveryOptimizer, SyncIsOneProcessOnTheMeanGradient) {
  constexpr int kRanks = 3, kSteps = 12;
  torch::nn::Sequential reference = small_net();
  set_weights(reference, 0);
  const auto alone = optimizer(reference);
  for (int step = 0; step < kSteps; ++step) {
    alone->zero_grad();
    for (int rank = 0; rank < kRanks; ++rank) (loss(reference, rank, step) / kRanks).backward();
    alone->step();
  }
  const std::vector<float> expected = weights_of(reference);

  std::vector<std::vector<float>> ends(kRanks);
  with_ranks(kRanks, [&](World& world) {
    torch::nn::Sequential net = small_net();
    set_weights(net, world.rank());  // Rank 0's are taken.
    const auto own = optimizer(net);
    DistributedOptimizer distributed(world, *own, "sync");
    for (int step = 0; step < kSteps; ++step) {
      distributed.zero_grad();
      loss(net, world.rank(), step).backward();
      distributed.step();
    }
    distributed.finish();
    ends[world.rank()] = weights_of(net);
  });
  for (const auto& end : ends) {
    EXPECT_EQ(end, ends[0]);
    ASSERT_EQ(end.size(), expected.size());
    // Sums are taken in another order.
    for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NEAR(end[i], expected[i], 2e-5) << i;
  }
}

/// A number that differs if a single bit of the weights does; never zero.
std::uint64_t fingerprint(const std::vector<float>& weights) {
  std::uint64_t print = 14695981039346656037U;
  for (const float weight : weights) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &weight, sizeof bits);
    print = (print ^ bits) * 1099511628211U;
  }
  return print | 1;
}

/// Calls back after each exchange.
class Watched final : public TorchLearner {
 public:
  using TorchLearner::TorchLearner;
  void exchanged(const Exchange& exchange) override { on_exchange(exchange); }
  void write_gradient_to(float* place) override {
    gradient_place = place;
    TorchLearner::write_gradient_to(place);
  }
  std::function<void(const Exchange&)> on_exchange = [](const Exchange&) {};
  float* gradient_place = nullptr;
};

TEST_P(EveryOptimizer, ReplicasThatAppliedTheSameRoundsAreBitIdentical) {
  constexpr int kRanks = 4, kSteps = 60;
  std::vector<std::atomic<std::uint64_t>> prints(kRanks * kSteps + 2);
  std::vector<std::vector<float>> ends(kRanks);
  with_ranks(kRanks, [&](World& world) {
    std::minstd_rand random(unsigned(world.rank() + 1));
    torch::nn::Sequential net = small_net();
    set_weights(net, 0);
    const auto own = optimizer(net);
    Watched learner(*own);
    learner.on_exchange = [&](const Exchange& exchange) {
      std::vector<float> weights(learner.size());
      learner.read_weights(weights);
      const std::uint64_t mine = fingerprint(weights);
      std::uint64_t known = 0;
      prints.at(exchange.number).compare_exchange_strong(known, mine);
      ASSERT_TRUE(known == 0 || known == mine) << "round " << exchange.number;
    };
    const auto strategy = make_strategy("eager-solo", {.world = world, .learner = learner});
    for (int step = 0; step < kSteps; ++step) {
      testing::be_away(int(random() % 8) * (world.rank() == 0 ? 4 : 1));
      strategy->begin_step();
      learner.zero_gradient();
      loss(net, world.rank(), step).backward();
      strategy->end_step({});
    }
    strategy->finish();
    learner.settle();
    ends[world.rank()] = weights_of(net);
  });
  for (const auto& end : ends) EXPECT_EQ(fingerprint(end), fingerprint(ends[0]));
}

TEST_P(EveryOptimizer, StepsOnToTheBitWithWhatAnotherRemembers) {
  torch::nn::Sequential net = small_net(), heir = small_net();
  set_weights(net, 0);
  const auto own = optimizer(net), other = optimizer(heir);
  const auto step = [](torch::optim::Optimizer& one, torch::nn::Sequential& on, int number) {
    one.zero_grad();
    loss(on, 0, number).backward();
    one.step();
  };
  EXPECT_TRUE(memory_of(*own).empty()) << "it has not stepped";
  for (int number = 0; number < 5; ++number) step(*own, net, number);
  const Tensors memory = memory_of(*own);
  EXPECT_EQ(memory.empty(), GetParam().name == "Sgd");
  set_memory(*other, memory);
  {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < net->parameters().size(); ++i) {
      heir->parameters()[i].copy_(net->parameters()[i]);
    }
  }
  for (int number = 5; number < 8; ++number) {
    step(*own, net, number);
    step(*other, heir, number);
    EXPECT_EQ(weights_of(heir), weights_of(net)) << number;
  }
}

TEST_P(EveryOptimizer, RefusesTheMemoryOfAnotherModel) {
  torch::nn::Sequential net = small_net();
  const auto one = optimizer(net);
  loss(net, 0, 0).backward();
  one->step();
  Tensors memory = memory_of(*one);
  if (memory.empty()) return;
  memory.begin()->second = torch::zeros({2, 2});
  EXPECT_THROW(set_memory(*one, memory), std::exception);
}

TEST_P(EveryOptimizer, AfterTheEndTheModelIsTheCallersAgain) {
  for (const char* strategy : {"sync", "eager-solo", "local:4", "wagma:2:4", "biased-local"}) {
    SCOPED_TRACE(strategy);
    std::vector<torch::nn::Sequential> nets;
    std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers;
    for (int rank = 0; rank < 2; ++rank) {
      nets.push_back(small_net());
      set_weights(nets.back(), 0);
      optimizers.push_back(optimizer(nets.back()));
    }
    with_ranks(2, [&](World& world) {
      torch::nn::Sequential& net = nets[world.rank()];
      DistributedOptimizer distributed(world, *optimizers[world.rank()], strategy,
                                       {.samples = 100, .batch = 3});
      for (int step = 0; step < 6; ++step) {
        distributed.zero_grad();
        loss(net, world.rank(), step).backward();
        distributed.step();
      }
      distributed.finish();
    });
    EXPECT_EQ(weights_of(nets[0]), weights_of(nets[1]));
    // The board is gone. Training alone goes on.
    const double before = loss(nets[0], 0, 0).item<double>();
    for (int step = 0; step < 20; ++step) {
      optimizers[0]->zero_grad();
      loss(nets[0], 0, 0).backward();
      optimizers[0]->step();
    }
    EXPECT_LT(loss(nets[0], 0, 0).item<double>(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EveryOptimizer, ::testing::ValuesIn(kOptimizers),
                         [](const auto& one) { return one.param.name; });

TEST(TorchLearner, GradientsAreComputedOnTheBoard) {
  with_ranks(1, [](World& world) {
    torch::nn::Sequential net = small_net();
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    Watched learner(optimizer);
    const auto strategy = make_strategy("eager-solo", {.world = world, .learner = learner});
    for (int step = 0; step < 4; ++step) {
      strategy->begin_step();
      learner.zero_gradient();
      loss(net, 0, step).backward();
      const float* place = learner.gradient_place;
      for (const auto& parameter : net->parameters()) {
        EXPECT_EQ(parameter.grad().data_ptr<float>(), place);
        EXPECT_EQ(parameter.grad().abs().sum().item<float>() > 0, true);
        place += parameter.numel();
      }
      strategy->end_step({});
    }
    strategy->finish();
  });
}

TEST(TorchLearner, DestroyedWithoutFinishLeavesAModelThatWorks) {
  for (const char* strategy : {"eager-solo", "local:4", "wagma:1:4"}) {
    torch::nn::Sequential net = small_net();
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    with_ranks(1, [&](World& world) {
      DistributedOptimizer distributed(world, optimizer, strategy);
      distributed.zero_grad();
      loss(net, 0, 0).backward();
      distributed.step();
    });
    for (const float weight : weights_of(net)) EXPECT_TRUE(std::isfinite(weight));
    loss(net, 0, 1).backward();
    optimizer.step();
  }
}

TEST(TorchLearner, AStrategyThatIsNotThereLeavesTheModelAlone) {
  with_ranks(1, [](World& world) {
    torch::nn::Sequential net = small_net();
    set_weights(net, 2);
    const auto before = weights_of(net);
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    testing::expect_refused(ErrorCode::invalid_argument, {"nonsense"}, [&] {
      DistributedOptimizer distributed(world, optimizer, "nonsense");
    });
    EXPECT_EQ(weights_of(net), before);
    loss(net, 0, 1).backward();
  });
}

}  // namespace
}  // namespace syncopate::train

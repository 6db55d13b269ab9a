// Training with libtorch in forty lines: four lines are ours. Ranks learn to tell the inside of a
// ring from the outside, and none waits for the slowest.
//   syncopate run -n 4 -- ./torch_loop
#include <syncopate/torch.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

int main() try {
  constexpr int kSteps = 300;
  torch::set_num_threads(1);
  auto world = syncopate::World::from_environment();
  torch::manual_seed(1 + world.rank());

  torch::nn::Sequential net(torch::nn::Linear(2, 32), torch::nn::ReLU(), torch::nn::Linear(32, 2));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  syncopate::DistributedOptimizer distributed(world, optimizer, "eager-majority");

  const auto points = [] { return torch::randn({64, 2}); };
  const auto classes = [](const torch::Tensor& x) { return x.norm(2, 1).gt(1).to(torch::kLong); };
  for (int step = 0; step < kSteps; ++step) {
    const torch::Tensor x = points();
    distributed.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(x), classes(x)).backward();
    // Inputs of uneven length: a sleep stands for it.
    std::this_thread::sleep_for(std::chrono::milliseconds((step + world.rank()) % 4));
    distributed.step();
  }
  distributed.finish();

  const torch::NoGradGuard no_grad;
  torch::manual_seed(99);
  const torch::Tensor x = torch::randn({10'000, 2});
  const auto right = net->forward(x).argmax(1).eq(classes(x)).to(torch::kFloat).mean();
  std::printf("rank %d of %d: %.1f %% right\n", world.rank(), world.size(),
              100 * right.item<float>());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

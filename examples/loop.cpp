// A training loop in forty lines: ranks fit y = w x together without waiting for each other.
//   syncopate run -n 4 -- ./loop
#include <syncopate/syncopate.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <thread>
#include <vector>

int main() try {
  constexpr std::size_t kWeights = 64;
  constexpr int kSteps = 200;
  constexpr float kRate = 0.2F;

  auto world = syncopate::World::from_environment();
  syncopate::PartialAllreduce gradients(world, kWeights, {.trigger = syncopate::majority()});
  std::vector<float> weights(kWeights, 0);
  const auto apply = [&](const syncopate::Round<float>& round) {
    for (std::size_t i = 0; i < kWeights; ++i) weights[i] -= kRate * round.mean()[i];
  };

  std::mt19937 random(world.rank());
  std::normal_distribution<float> noise(0, 0.1F);
  std::uniform_int_distribution<int> milliseconds(0, 4);
  for (int step = 0; step < kSteps; ++step) {
    // The gradient of (w - i)^2 / 2, seen through noise, after a step of uneven length.
    float* gradient = gradients.slot();
    for (std::size_t i = 0; i < kWeights; ++i) gradient[i] = weights[i] - float(i) + noise(random);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
    for (const auto& round : gradients.exchange()) apply(round);
  }
  gradients.finish(apply);

  float error = 0;
  for (std::size_t i = 0; i < kWeights; ++i) error += std::abs(weights[i] - float(i));
  std::printf("rank %d of %d: mean error %.4f\n", world.rank(), world.size(), error / kWeights);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

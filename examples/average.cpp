// Weights that groups of ranks average, in thirty lines: four ranks as threads of one program, none
// of which waits for the slowest. With `syncopate run` use World::from_environment() instead.
#include <syncopate/syncopate.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

void train(const syncopate::World& world) {
  constexpr int kSteps = 100;
  const std::vector<float> initial(64, 0);
  syncopate::GroupAverage<float> model(world, initial, {.group_size = 2});
  for (int step = 0; step < kSteps; ++step) {
    float* weights = model.weights();  // On the board: stepped in place.
    for (std::size_t i = 0; i < model.size(); ++i) weights[i] += 0.1F * (float(i) - weights[i]);
    std::this_thread::sleep_for(std::chrono::milliseconds((step + world.rank()) % 3));
    model.average();
  }
  std::printf("rank %d: weight 63 is %.1f\n", world.rank(), model.weights()[63]);
  model.leave();
}

}  // namespace

int main() {
  std::vector<std::jthread> ranks;
  for (const syncopate::World& world : syncopate::World::threads(4)) {
    ranks.emplace_back([world] { train(world); });
  }
}

// A user's first program: every rank deposits its rank plus one and prints the sum.
#include <syncopate/syncopate.h>

#include <algorithm>
#include <cstdio>

int main() try {
  auto world = syncopate::World::from_environment();
  syncopate::PartialAllreduce gradients(
      world, 1000, {.trigger = syncopate::all(), .scale = syncopate::Scale::none});

  std::fill_n(gradients.slot(), gradients.size(), float(world.rank() + 1));
  for (const auto& round : gradients.exchange()) {
    std::printf("rank %d of %d: sum %g, %d contributors\n", world.rank(), world.size(),
                double(round.sum().back()), round.receipt().contributors.size());
  }
  gradients.leave();
  return 0;
} catch (const syncopate::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// A program that links no MPI: says where it finds itself, or why not. For the tests of refusals.
//
//   fork     has a child that exits, as data loaders do, and goes on
//   world    makes a world, and says what the ranks' numbers from 1 add up to
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fabric/plugin.h"
#include "syncopate/syncopate.h"

namespace {

int add_up() {
  const auto world = syncopate::World::from_environment();
  syncopate::Allreduce<float> sums(world, 1);
  *sums.slot() = float(world.rank() + 1);
  std::printf("rank %d of %d: %g\n", world.rank(), world.size(), sums.exchange().front().sum()[0]);
  return EXIT_SUCCESS;
}

int probe(const std::string& what) {
  if (what == "world") return add_up();
  auto launcher = syncopate::fabric::launcher_from_environment();
  if (!launcher) {
    std::puts("alone");
    return EXIT_SUCCESS;
  }
  const auto link = syncopate::fabric::connect(*launcher);
  if (what == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(EXIT_SUCCESS);  // NOLINT: its functions for the exit are the point.
    waitpid(child, nullptr, 0);
  }
  const auto fabric = link->fabric();
  const syncopate::fabric::Place& place = link->place();
  std::printf("rank %d of %d on %s, machine %d of %d\n", place.rank, place.ranks(),
              place.addresses[place.machine].c_str(), place.machine, place.machines());
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return probe(count > 1 ? arguments[1] : "");
  } catch (const syncopate::Error& error) {
    std::printf("%s: %s\n", to_string(error.code()), error.what());
    return EXIT_FAILURE;
  }
}

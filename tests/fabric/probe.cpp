// A program that links no MPI: says where it finds itself, or why not. For the tests of refusals.
//
//   fork     has a child that exits, as data loaders do, and goes on
//   world    makes a world, and says what the ranks' numbers from 1 add up to
//   exit     the same, and exits with a world that nothing but the exit ends
//   parent   the same, after a child had the world too and exited
//   join     makes a world by a rendezvous, and beside it one of the ranks that are odd or even
//   skew     says where it is, where rank 1 is of another build
//   early    the same, where rank 1 is killed before MPI is up
//   yields   says whether Open MPI yields while there is an agent, and after it
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "fabric/plugin.h"
#include "syncopate/syncopate.h"

namespace {

int add_up(const syncopate::World& world, syncopate::Allreduce<float>& sums) {
  *sums.slot() = float(world.rank() + 1);
  const float sum = sums.exchange().front().sum()[0];
  std::printf("rank %d of %d: %g\n", world.rank(), world.size(), sum);
  const int size = world.size();
  return sum == float(size * (size + 1) / 2) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int add_up() {
  const auto world = syncopate::World::from_environment();
  syncopate::Allreduce<float> sums(world, 1);
  return add_up(world, sums);
}

/// Two worlds at once, and a third after them.
int join_worlds() {
  const auto launcher = syncopate::fabric::launcher_from_environment();
  if (!launcher) throw std::runtime_error("this is to be started as torchrun does");
  const int rank = launcher->rank, size = launcher->ranks, half = rank % 2;
  const auto rendezvous = syncopate::rendezvous_from_environment();
  int code = EXIT_SUCCESS;
  {
    const auto all = syncopate::World::join(*rendezvous, rank, size, "all");
    const auto some = syncopate::World::join(*rendezvous, rank / 2, (size + 1 - half) / 2,
                                             half == 0 ? "even" : "odd");
    syncopate::Allreduce<float> sums(all, 1), others(some, 1);
    for (int step = 0; step < 3; ++step) code += add_up(some, others) + add_up(all, sums);
  }
  const auto again = syncopate::World::join(*rendezvous, rank, size, "again");
  syncopate::Allreduce<float> sums(again, 1);
  return code + add_up(again, sums);
}

/// A child that exits, as data loaders do.
void have_a_child() {
  const pid_t child = fork();
  if (child == 0) std::exit(EXIT_SUCCESS);  // NOLINT: its functions for the exit are the point.
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the child did not exit well");
}

int add_up_until_exit(bool child) {
  static const auto world = syncopate::World::from_environment();
  static syncopate::Allreduce<float> sums(world, 1);
  int code = add_up(world, sums);
  if (child) {
    have_a_child();
    code += add_up(world, sums);
  }
  std::exit(code);  // NOLINT: the same.
}

/// Whether Open MPI offers its core to others while it waits, as it has it itself.
bool open_mpi_yields() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        const std::string name = library->dlpi_name;
        if (name.find("libopen-pal") != std::string::npos) *static_cast<std::string*>(found) = name;
        return 0;
      },
      &path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const void* yields = library ? dlsym(library, "opal_progress_yield_when_idle") : nullptr;
  if (yields == nullptr) throw std::runtime_error("this is no Open MPI whose yields are known");
  return *static_cast<const bool*>(yields);
}

int tell_yields() {
  // As mpirun says it where ranks outnumber cores.
  setenv("OMPI_MCA_mpi_oversubscribe", "1", 1);
  const auto link = syncopate::fabric::connect(*syncopate::fabric::launcher_from_environment());
  auto fabric = link->fabric();
  const bool with_agent = open_mpi_yields();
  fabric.reset();
  const bool after_it = open_mpi_yields();
  std::printf("yields: %d with an agent, %d after it\n", with_agent, after_it);
  return !with_agent && after_it ? EXIT_SUCCESS : EXIT_FAILURE;
}

int probe(const std::string& what) {
  if (what == "yields") return tell_yields();
  if (what == "world") return add_up();
  if (what == "join") return join_worlds();
  if (what == "exit" || what == "parent") return add_up_until_exit(what == "parent");
  auto launcher = syncopate::fabric::launcher_from_environment();
  if (!launcher) {
    std::puts("alone");
    return EXIT_SUCCESS;
  }
  if (what == "early" && launcher->rank == 1) std::raise(SIGKILL);
  const bool skewed = what == "skew" && launcher->rank == 1;
  const auto link = syncopate::fabric::connect(
      *launcher, skewed ? "0.0.9 (protocol 4)" : syncopate::fabric::own_build());
  if (what == "fork") have_a_child();
  const auto fabric = link->fabric();
  const syncopate::fabric::Topology& topology = link->topology();
  std::printf("rank %d of %d on %s, machine %d of %d\n", topology.rank, topology.ranks(),
              topology.addresses[topology.machine].c_str(), topology.machine, topology.machines());
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

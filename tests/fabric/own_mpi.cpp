// A program that uses MPI itself, and Syncopate beside it.
//
// Usage: own_mpi single | serialized | multiple | second | linked | finalized | outlived | abort |
//                world | worlds-in-any-order | late
//   second    makes a second link where MPI may be called by one thread at a time only
//   linked    leaves MPI to Syncopate, from the first call to the last
//   outlived  finalizes MPI before its link and its fabric go
//   world     makes a world after MPI_Init_thread and finalizes MPI before the world goes
//   worlds-in-any-order  the same on some ranks only; the others let theirs go first
//   late      rank 1 does not come to the world until the others have given up
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fabric/plugin.h"
#include "syncopate/syncopate.h"

namespace {

using namespace syncopate::fabric;

/// MPICH 4.0 has a mutex for MPI_THREAD_MULTIPLE that it finds busy in some of a thousand
/// MPI_Finalize, if another thread was in MPI when it began (docs/troubleshooting.md). Without it
/// there is nothing to find.
#if defined(OPEN_MPI)
constexpr bool kFinalizesBesideAThread = true;
#else
constexpr bool kFinalizesBesideAThread = false;
#endif

void init(int level) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, level, &provided);
}

std::unique_ptr<Link> link_of_launcher() {
  const auto launcher = launcher_from_environment();
  if (!launcher) throw std::runtime_error("This is to be started by mpirun");
  return connect(*launcher);
}

/// A reduction between the machines beside one of the program's own.
void work(Link& link) {
  const auto fabric = link.fabric();
  std::thread agent([&] {
    if (fabric == nullptr) return;
    std::unique_ptr<Channel> channel;
    const auto opening = fabric->open(channel);
    while (!opening->done()) std::this_thread::yield();
    float sum = 1;
    const auto reduction =
        channel->reduce(&sum, &sum, 1, syncopate::DataType::float32, Combine::sum);
    while (!reduction->done()) std::this_thread::yield();
    if (sum != static_cast<float>(link.topology().machines())) std::abort();
  });
  agent.join();
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("%d ranks, %d machines\n", sum, link.topology().machines());
}

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("not so: ") + what);
}

/// What a call says after MPI_Finalize.
template <typename Act>
void expect_closed(Act&& act) {
  try {
    act();
  } catch (const syncopate::Error& error) {
    require(error.code() == syncopate::ErrorCode::closed, error.what());
    require(std::string(error.what()).find("has called MPI_Finalize") != std::string::npos,
            error.what());
    return;
  }
  throw std::runtime_error("not so: a call after MPI_Finalize is refused");
}

/// The order in which most would write it: what was made last is still there at the end.
void finalize_before_the_world_goes(bool on_this_rank) {
  std::optional<syncopate::World> world = syncopate::World::from_environment();
  std::optional<syncopate::PartialAllreduce<float>> rounds;
  rounds.emplace(
      *world, 10,
      syncopate::PartialOptions{.trigger = syncopate::all(), .scale = syncopate::Scale::none});
  const std::vector<float> one(10, 1.0F);
  require(rounds->exchange(one).front().sum()[0] == static_cast<float>(world->size()), "a sum");
  if (!on_this_rank) {
    rounds.reset();
    world.reset();
  }
  MPI_Finalize();
  if (!on_this_rank) return;
  expect_closed([&] { rounds->exchange(one).pass(); });
  expect_closed([&] { world->barrier(); });
  expect_closed([&] { syncopate::Allreduce<float> another(*world, 1); });
}

void run(const std::string& what) {
  if (what == "single") {
    init(MPI_THREAD_SINGLE);
    link_of_launcher();
  } else if (what == "serialized" || what == "multiple") {
    init(what == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
    work(*link_of_launcher());
    // Still the program's own: not ended by the link that went.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
  } else if (what == "second") {
    init(MPI_THREAD_SERIALIZED);
    const auto link = link_of_launcher();
    link_of_launcher();
  } else if (what == "linked") {
    work(*link_of_launcher());  // Which started MPI, and will end it.
  } else if (what == "finalized") {
    init(MPI_THREAD_MULTIPLE);
    MPI_Finalize();
    link_of_launcher();
  } else if (what == "outlived") {
    init(MPI_THREAD_MULTIPLE);
    const auto link = link_of_launcher();
    const auto fabric = link->fabric();
    work(*link);
    MPI_Finalize();
  } else if (what == "world" || what == "worlds-in-any-order") {
    init(kFinalizesBesideAThread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    finalize_before_the_world_goes(what == "world" || rank % 2 == 0);
  } else if (what == "late") {
    init(MPI_THREAD_MULTIPLE);
    int rank = 0, ended = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) MPI_Recv(&ended, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    try {
      link_of_launcher();
    } catch (const syncopate::Error&) {
      if (rank == 0) MPI_Send(&ended, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      throw;
    }
  } else if (what == "abort") {
    const auto link = link_of_launcher();
    const auto fabric = link->fabric();
    if (link->topology().rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count > 1 ? arguments[1] : "");
    return EXIT_SUCCESS;
  } catch (const syncopate::Error& error) {
    std::printf("%s: %s\n", to_string(error.code()), error.what());
  } catch (const std::exception& exception) {
    std::printf("%s\n", exception.what());
  }
  std::fflush(nullptr);
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Finalize();
  return EXIT_FAILURE;
}

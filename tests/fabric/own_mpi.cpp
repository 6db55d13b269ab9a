// A program that uses MPI itself, and Syncopate beside it.
//
// Usage: own_mpi single | serialized | multiple | linked | finalized | outlived | abort
//   linked    leaves MPI to Syncopate, from the first call to the last
//   outlived  finalises MPI before its link and its fabric go
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "fabric/plugin.h"
#include "syncopate/error.h"

namespace {

using namespace syncopate::fabric;

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
    if (sum != static_cast<float>(link.place().machines())) std::abort();
  });
  agent.join();
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("%d ranks, %d machines\n", sum, link.place().machines());
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
  } else if (what == "abort") {
    const auto link = link_of_launcher();
    const auto fabric = link->fabric();
    if (link->place().rank == 0) {
      std::puts("aborts");
      std::fflush(nullptr);
      MPI_Abort(MPI_COMM_WORLD, 7);
    }
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

#include "syncopate/rendezvous.h"

#include "fabric/job_environment.h"
#include "fabric/tcp/store.h"
#include "syncopate/error.h"

namespace syncopate {

std::unique_ptr<Rendezvous> make_rendezvous(const std::string& host, int port, int rank, int size) {
  if (port < 1 || port > 65535 || size < 1 || rank < 0 || rank >= size) {
    throw Error(ErrorCode::invalid_argument,
                "a rendezvous at port " + std::to_string(port) + ", of rank " +
                    std::to_string(rank) + " of " + std::to_string(size),
                "Give a port from 1 to 65535, and a rank from 0 to the number of ranks less one");
  }
  return fabric::tcp::make_store(
      {.host = host, .port = port, .rank = rank, .size = size, .job = "by hand"});
}

std::unique_ptr<Rendezvous> rendezvous_from_environment() {
  const auto launcher = fabric::launcher_from_environment();
  if (!launcher) {
    throw Error(ErrorCode::environment, "no launcher has told this process its rank",
                "Start the ranks with torchrun, or use make_rendezvous");
  }
  return fabric::tcp::make_store(fabric::tcp::store_place_from_environment(
      launcher->rank, launcher->ranks, launcher->ranks_here == launcher->ranks));
}

}  // namespace syncopate

// A process's part in the world that mpirun or srun started, and the function by which libsyncopate
// gets it (src/fabric/plugin.h).
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "fabric/mpi/await.h"
#include "fabric/mpi/builds.h"
#include "fabric/mpi/check.h"
#include "fabric/mpi/communicator.h"
#include "fabric/mpi/fabric.h"
#include "fabric/mpi/machines.h"
#include "fabric/mpi/session.h"
#include "fabric/plugin.h"

namespace syncopate::fabric::mpi {
namespace {

/// Ranks may come late, or when others have given up: they wait for each other here, and from then
/// on all are there, and of one build.
Communicator world_where_all_are(std::chrono::nanoseconds timeout, const std::string& build) {
  Communicator world = Communicator::copy_of(MPI_COMM_WORLD, timeout);
  world.meet(timeout);
  expect_one_build(world, build);
  return world;
}

class MpiLink : public Link, private User {
 public:
  MpiLink(std::chrono::nanoseconds timeout, const std::string& build)
      : timeout_(timeout),
        world_(world_where_all_are(timeout, build)),
        machines_(find_machines(world_)) {}

  const Topology& topology() const override { return machines_.topology; }

  std::string from_first(const std::string& text) override {
    auto length = std::make_unique<unsigned long long>(text.size());
    length = broadcast(std::move(length), 1, MPI_UNSIGNED_LONG_LONG);
    if (*length > std::numeric_limits<int>::max()) {
      fail("a text for the ranks of a machine is too long", "This is a mistake in Syncopate");
    }
    auto copy = std::make_unique<std::string>(text);
    copy->resize(*length);
    copy = broadcast(std::move(copy), static_cast<int>(*length), MPI_CHAR);
    return *copy;
  }

  std::unique_ptr<Fabric> fabric() override {
    if (machines_.agents.handle() == MPI_COMM_NULL) return nullptr;
    return std::make_unique<MpiFabric>(machines_.agents, timeout_);
  }

  void note_loss() override { leave_running(); }
  void set_before_end(const std::function<void()>& act) override { before_end_ = act; }

 private:
  void before_end() override {
    if (before_end_) before_end_();
  }

  static void* data(unsigned long long& number) { return &number; }
  static void* data(std::string& text) { return text.data(); }

  /// To the ranks of this machine, from its first.
  template <typename Memory>
  std::unique_ptr<Memory> broadcast(std::unique_ptr<Memory> memory, int count, MPI_Datatype type) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(data(*memory), count, type, 0, machines_.machine.handle(), &request),
          "MPI_Ibcast");
    try {
      return await(request, std::move(memory), timeout_);
    } catch (...) {
      machines_.machine.abandon();
      throw;
    }
  }

  std::chrono::nanoseconds timeout_;
  std::function<void()> before_end_;
  Communicator world_;
  Machines machines_;
};

}  // namespace
}  // namespace syncopate::fabric::mpi

extern "C" __attribute__((visibility("default"))) syncopate::fabric::Link* syncopate_fabric_link(
    int version, std::int64_t timeout, const char* build) {
  if (version != syncopate::fabric::kPluginVersion) return nullptr;
  const std::chrono::nanoseconds patience(timeout);
  syncopate::fabric::mpi::start(patience);
  try {
    return new syncopate::fabric::mpi::MpiLink(patience, build);
  } catch (...) {
    // A machine may never come: when the process exits, it is not waited for.
    syncopate::fabric::mpi::leave_running();
    throw;
  }
}

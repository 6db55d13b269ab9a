// A process's part in the world that mpirun or srun started, and the function by which libsyncopate
// gets it (src/fabric/plugin.h).
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "fabric/mpi/check.h"
#include "fabric/mpi/communicator.h"
#include "fabric/mpi/fabric.h"
#include "fabric/mpi/machines.h"
#include "fabric/mpi/session.h"
#include "fabric/plugin.h"

namespace syncopate::fabric::mpi {
namespace {

Communicator copy_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  return Communicator(copy);
}

class MpiLink : public Link, private User {
 public:
  MpiLink() : world_(copy_of_world()), machines_(find_machines(world_)) {}

  const Place& place() const override { return machines_.place; }

  std::string from_first(const std::string& text) override {
    const MPI_Comm machine = machines_.machine.handle();
    unsigned long long length = text.size();
    check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, machine), "MPI_Bcast");
    if (length > std::numeric_limits<int>::max()) {
      fail("a text for the ranks of a machine is too long", "This is a mistake in Syncopate");
    }
    std::string copy = text;
    copy.resize(length);
    check(MPI_Bcast(copy.data(), static_cast<int>(length), MPI_CHAR, 0, machine), "MPI_Bcast");
    return copy;
  }

  std::unique_ptr<Fabric> fabric() override {
    if (machines_.agents.handle() == MPI_COMM_NULL) return nullptr;
    return std::make_unique<MpiFabric>(machines_.agents);
  }

  void note_loss() override { leave_running(); }
  void set_before_end(std::function<void()> act) override { before_end_ = std::move(act); }

 private:
  void before_end() override {
    if (before_end_) before_end_();
  }

  std::function<void()> before_end_;
  Communicator world_;
  Machines machines_;
};

}  // namespace
}  // namespace syncopate::fabric::mpi

extern "C" __attribute__((visibility("default"))) syncopate::fabric::Link* syncopate_fabric_link(
    int version) {
  if (version != syncopate::fabric::kPluginVersion) return nullptr;
  syncopate::fabric::mpi::start();
  return new syncopate::fabric::mpi::MpiLink;
}

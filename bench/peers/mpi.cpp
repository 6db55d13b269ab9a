// MPI_Allreduce on the work of `syncopate bench`. Compiled once with Open MPI and once with
// MPICH; started by that library's mpirun.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "activation.h"
#include "synchronous.h"

namespace {

class Mpi {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

  void total(std::span<double> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
  }

  std::string library() const {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    // Open MPI: "Open MPI v4.1.4, package: …"; MPICH: "MPICH Version:\t4.0.2\nMPICH Release …".
    std::string name(text, std::size_t(length));
    name = name.substr(0, name.find_first_of(",\n"));
    const std::size_t tab = name.find(":\t");
    return tab == std::string::npos ? name : "MPICH " + name.substr(tab + 2);
  }

 protected:
  void prepare(std::span<float>) {}
  void sum_in_place(std::span<float> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0;
  int ranks_ = 1;
};

/// A binary of one MPI under the mpirun of another runs as many worlds of one rank.
bool launcher_matches(int ranks) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* expected = std::getenv(name);
    if (expected != nullptr && std::atoi(expected) != ranks) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    if (argc != 2) throw std::runtime_error("expected one argument, the workload as JSON");
    const peers::Workload work = peers::read_workload(argv[1]);
    peers::Synchronous<Mpi> side(work);
    if (!launcher_matches(side.ranks())) {
      throw std::runtime_error("started by the mpirun of another MPI than " + side.library());
    }
    if (work.operation == "activation") {
      peers::run_activation(side, work);
    } else {
      peers::run(side, work);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}

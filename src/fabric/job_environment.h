// Which program started this one as one of several ranks, as its environment tells. Nothing is
// started or contacted here. `syncopate run` is not among them: it has a board
// (board/launcher_board.h).
#pragma once

#include <cstdint>
#include <optional>

namespace syncopate::fabric {

struct JobEnvironment {
  enum class Kind : std::uint8_t {
    open_mpi,    ///< Open MPI's mpirun.
    hydra,       ///< MPICH's mpirun, and others that speak PMI to their ranks.
    slurm_pmix,  ///< srun --mpi=pmix.
    slurm_pmi,   ///< srun --mpi=pmi2.
    torchrun,    ///< torchrun, or what sets the same variables. No MPI.
  };
  Kind kind = Kind::open_mpi;
  int ranks = 1;  ///< How many there are, as the launcher says.
  int rank = 0;
  int ranks_here = 0;  ///< On this machine; 0: the launcher does not say.
};

/// As a person would call it: "Open MPI's mpirun".
const char* to_string(JobEnvironment::Kind kind);

/// Nothing if this process was started alone, or is to be alone: SYNCOPATE_FABRIC=none. Throws
/// `environment` if the variables of a launcher contradict themselves.
std::optional<JobEnvironment> launcher_from_environment();

}  // namespace syncopate::fabric

#include "fabric/job_environment.h"

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fabric/plugin.h"
#include "syncopate/error.h"

namespace syncopate::fabric {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

int number_from(const char* variable, int low, int high) {
  const std::string_view text = std::getenv(variable);
  const auto value = base::number<int>(text, low, high);
  if (!value) {
    throw Error(ErrorCode::environment, std::string(variable) + " is \"" + std::string(text) + "\"",
                "It should be a number from " + std::to_string(low) + " to " +
                    std::to_string(high) + ", as the launcher sets it; set " + kFabricVariable +
                    "=none to run without the launcher");
  }
  return *value;
}

JobEnvironment launcher(JobEnvironment::Kind kind, const char* ranks_variable,
                        const char* rank_variable) {
  const int ranks = number_from(ranks_variable, 1, INT_MAX);
  return {kind, ranks, number_from(rank_variable, 0, ranks - 1)};
}

JobEnvironment torchrun() {
  JobEnvironment result = launcher(JobEnvironment::Kind::torchrun, "WORLD_SIZE", "RANK");
  result.ranks_here = number_from("LOCAL_WORLD_SIZE", 1, result.ranks);
  return result;
}

bool torchrun_is_complete() {
  return is_set("WORLD_SIZE") && is_set("RANK") && is_set("LOCAL_RANK") &&
         is_set("LOCAL_WORLD_SIZE") && is_set("MASTER_ADDR");
}

/// Slurm sets SLURM_NTASKS and SLURM_PROCID in a batch script too, which is no task. Only a step of
/// srun has a number of tasks of its own.
const char* slurm_ranks_variable() {
  return is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
}

/// srun that was told of no MPI starts its tasks all the same, and each would be alone.
void refuse_srun_without_mpi() {
  if (!is_set("SLURM_STEP_ID") || !is_set("SLURM_PROCID") || !is_set("SLURM_STEP_NUM_TASKS")) {
    return;
  }
  const int tasks = number_from("SLURM_STEP_NUM_TASKS", 1, INT_MAX);
  if (tasks == 1) return;
  throw Error(ErrorCode::environment,
              "srun started " + std::to_string(tasks) +
                  " tasks and gave them no way to find each other: neither PMIX_RANK nor PMI_RANK "
                  "is set",
              "Use srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH), or set " +
                  std::string(kFabricVariable) + "=none if each task is to be alone");
}

}  // namespace

const char* to_string(JobEnvironment::Kind kind) {
  switch (kind) {
    case JobEnvironment::Kind::open_mpi:
      return "Open MPI's mpirun";
    case JobEnvironment::Kind::hydra:
      return "MPICH's mpirun";
    case JobEnvironment::Kind::slurm_pmix:
      return "srun with PMIx";
    case JobEnvironment::Kind::slurm_pmi:
      return "srun with PMI";
    case JobEnvironment::Kind::torchrun:
      return "torchrun";
  }
  return "unknown";
}

std::optional<JobEnvironment> launcher_from_environment() {
  using Kind = JobEnvironment::Kind;
  if (const char* fabric = std::getenv(kFabricVariable);
      fabric != nullptr && std::string_view(fabric) == "none") {
    return std::nullopt;
  }
  // The innermost first. torchrun may itself be started by mpirun or srun, once per machine, and
  // then its ranks see the variables of both; mpirun is not started from a rank of torchrun.
  if (is_set("TORCHELASTIC_RUN_ID") && torchrun_is_complete()) {
    return torchrun();
  }
  if (is_set("OMPI_COMM_WORLD_SIZE") && is_set("OMPI_COMM_WORLD_RANK")) {
    return launcher(Kind::open_mpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK");
  }
  if (is_set("PMI_SIZE") && is_set("PMI_RANK")) {
    // Inside a Slurm job Hydra starts its helpers by srun, so their variables are there as well.
    const bool by_srun = is_set("SLURM_STEP_ID") && !is_set("HYDI_CONTROL_FD");
    return launcher(by_srun ? Kind::slurm_pmi : Kind::hydra, "PMI_SIZE", "PMI_RANK");
  }
  if (is_set("PMIX_RANK") && is_set("SLURM_PROCID") && is_set(slurm_ranks_variable())) {
    return launcher(Kind::slurm_pmix, slurm_ranks_variable(), "SLURM_PROCID");
  }
  // By hand, where torchrun is not wanted.
  if (torchrun_is_complete()) return torchrun();
  refuse_srun_without_mpi();
  return std::nullopt;
}

}  // namespace syncopate::fabric

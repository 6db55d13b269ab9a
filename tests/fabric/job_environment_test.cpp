// What the environment tells about the launcher: the variables are set here as each one sets them.
#include "fabric/job_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "support/refusal.h"

namespace syncopate::testing {
namespace {

using fabric::JobEnvironment;
using Variables = std::map<std::string, std::string>;

class LauncherDetection : public ::testing::Test {
 protected:
  LauncherDetection() {
    for (const char* name :
         {"SYNCOPATE_FABRIC", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
          "PMI_RANK", "PMIX_RANK", "HYDI_CONTROL_FD", "SLURM_NTASKS", "SLURM_PROCID",
          "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE", "RANK", "LOCAL_RANK",
          "LOCAL_WORLD_SIZE", "MASTER_ADDR", "TORCHELASTIC_RUN_ID"}) {
      unsetenv(name);
    }
  }
  static void set(const Variables& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  static void expect(const Variables& variables, JobEnvironment::Kind kind, int ranks, int rank) {
    set(variables);
    const auto launcher = fabric::launcher_from_environment();
    ASSERT_TRUE(launcher);
    EXPECT_STREQ(to_string(launcher->kind), to_string(kind));
    EXPECT_EQ(launcher->ranks, ranks);
    EXPECT_EQ(launcher->rank, rank);
  }
};

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_RANK", "3"},
                            {"PMIX_RANK", "3"},
                            {"PMIX_NAMESPACE", "1"}};
const Variables kHydra = {{"PMI_SIZE", "5"}, {"PMI_RANK", "2"}, {"HYDI_CONTROL_FD", "7"}};
const Variables kSlurmScript = {{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}};
const Variables kSlurmTask = {{"SLURM_NTASKS", "8"},
                              {"SLURM_PROCID", "6"},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_STEP_NUM_TASKS", "8"}};
const Variables kTorchrun = {{"WORLD_SIZE", "6"},
                             {"RANK", "5"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "localhost"}};

TEST_F(LauncherDetection, NoVariablesAreNoLauncher) {
  EXPECT_FALSE(fabric::launcher_from_environment());
}

TEST_F(LauncherDetection, OpenMpi) { expect(kOpenMpi, JobEnvironment::Kind::open_mpi, 4, 3); }

TEST_F(LauncherDetection, Hydra) { expect(kHydra, JobEnvironment::Kind::hydra, 5, 2); }

TEST_F(LauncherDetection, MpirunInsideASlurmJobIsMpirun) {
  set(kSlurmTask);
  expect(kHydra, JobEnvironment::Kind::hydra, 5, 2);
  expect(kOpenMpi, JobEnvironment::Kind::open_mpi, 4, 3);
}

TEST_F(LauncherDetection, SrunWithPmix) {
  set({{"PMIX_RANK", "6"}});
  expect(kSlurmTask, JobEnvironment::Kind::slurm_pmix, 8, 6);
}

TEST_F(LauncherDetection, SrunWithPmi) {
  set({{"PMI_SIZE", "8"}, {"PMI_RANK", "6"}});
  expect(kSlurmTask, JobEnvironment::Kind::slurm_pmi, 8, 6);
}

TEST_F(LauncherDetection, ASmallerStepOfAJobCountsItsOwnTasks) {
  set(kSlurmTask);
  set({{"PMIX_RANK", "1"}});
  expect({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}, JobEnvironment::Kind::slurm_pmix,
         2, 1);
}

TEST_F(LauncherDetection, ABatchScriptIsAlone) {
  set(kSlurmScript);
  EXPECT_FALSE(fabric::launcher_from_environment());
}

TEST_F(LauncherDetection, AShellOfOneTaskIsAlone) {
  set(kSlurmTask);
  set({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}});
  EXPECT_FALSE(fabric::launcher_from_environment());
}

TEST_F(LauncherDetection, SrunWithoutMpiIsRefused) {
  set(kSlurmTask);
  expect_refused(ErrorCode::environment, {"8 tasks", "--mpi=pmix", "SYNCOPATE_FABRIC=none"},
                 [] { fabric::launcher_from_environment(); });
}

TEST_F(LauncherDetection, Torchrun) { expect(kTorchrun, JobEnvironment::Kind::torchrun, 6, 5); }

TEST_F(LauncherDetection, VariablesOfTorchSetByHandUnderMpirunAreMpirun) {
  set(kTorchrun);
  expect(kOpenMpi, JobEnvironment::Kind::open_mpi, 4, 3);
}

TEST_F(LauncherDetection, TorchrunStartedBySrunIsTorchrun) {
  set(kSlurmTask);
  set({{"PMI_SIZE", "8"}, {"PMI_RANK", "6"}, {"TORCHELASTIC_RUN_ID", "none"}});
  expect(kTorchrun, JobEnvironment::Kind::torchrun, 6, 5);
}

TEST_F(LauncherDetection, SomeVariablesOfTorchAreNotEnough) {
  set({{"WORLD_SIZE", "2"}, {"RANK", "0"}});
  EXPECT_FALSE(fabric::launcher_from_environment());
}

TEST_F(LauncherDetection, NoneIgnoresTheLauncher) {
  set(kOpenMpi);
  set({{"SYNCOPATE_FABRIC", "none"}});
  EXPECT_FALSE(fabric::launcher_from_environment());
}

TEST_F(LauncherDetection, WrongNumbersAreRefused) {
  for (const char* value : {"", "x", "0", "-1", "3 ", "99999999999"}) {
    set(kOpenMpi);
    set({{"OMPI_COMM_WORLD_SIZE", value}});
    expect_refused(ErrorCode::environment, {"OMPI_COMM_WORLD_SIZE"},
                   [] { fabric::launcher_from_environment(); });
  }
  set({{"OMPI_COMM_WORLD_SIZE", "3"}});
  expect_refused(ErrorCode::environment, {"OMPI_COMM_WORLD_RANK", "from 0 to 2"},
                 [] { fabric::launcher_from_environment(); });
}

}  // namespace
}  // namespace syncopate::testing

// `syncopate train` as a user starts it under each MPI's mpirun, with several machines made of one
// (SYNCOPATE_SPLIT).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "train/train_program.h"

namespace syncopate::testing {

struct Mpi {
  std::string name;
  Strings run;
  Strings patient;  ///< Gives ranks that are told to end more than a second for it.
};
inline void PrintTo(const Mpi& mpi, std::ostream* out) { *out << mpi.name; }

inline std::vector<Mpi> mpis() {
  std::vector<Mpi> known{{"openmpi",
                          {SYNCOPATE_OPENMPI_RUN, "--oversubscribe"},
                          {"--mca", "odls_base_sigkill_timeout", "5"}},
                         {"mpich", {SYNCOPATE_MPICH_RUN}, {}}};
  std::erase_if(known, [](const Mpi& mpi) { return mpi.run.front().empty(); });
  return known;
}

class UnderMpirun : public ::testing::TestWithParam<Mpi> {
 protected:
  UnderMpirun() {
    // As root, on fewer cores than ranks, and beside other tests.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  }
  ~UnderMpirun() override { unsetenv("SYNCOPATE_SPLIT"); }

  static Strings with(int ranks, const char* split, const Strings& command,
                      const Strings& options = {}) {
    setenv("SYNCOPATE_SPLIT", split, 1);
    Strings all = GetParam().run;
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"-n", std::to_string(ranks)});
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }
  const TemporaryFolder folder_;
  const fs::path latest_ = folder_.path() / "latest";
};

/// Gradients that the rounds of a run of so many ranks held, as each rank saw it.
inline std::map<int, double> gradients_in(const fs::path& run, int ranks) {
  std::map<int, double> sums;
  std::istringstream lines(text_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto metric = nlohmann::json::parse(line);
    sums[metric.at("rank")] += metric.at("mass").get<double>() * ranks;
  }
  return sums;
}

}  // namespace syncopate::testing

// What a launcher has put into the environment: NAME=VALUE lines, of names that are looked at.
#include <array>
#include <cstdlib>
#include <string>

#include "fabric/job_environment.h"
#include "fabric/own_code.h"
#include "fabric/plugin.h"
#include "fuzz/refused.h"

namespace {

constexpr std::array kNames{"SYNCOPATE_FABRIC",
                            "SYNCOPATE_PLUGINS",
                            "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_RANK",
                            "PMI_SIZE",
                            "PMI_RANK",
                            "PMIX_RANK",
                            "HYDI_CONTROL_FD",
                            "SLURM_NTASKS",
                            "SLURM_PROCID",
                            "SLURM_STEP_ID",
                            "SLURM_STEP_NUM_TASKS",
                            "WORLD_SIZE",
                            "RANK",
                            "LOCAL_RANK",
                            "LOCAL_WORLD_SIZE",
                            "MASTER_ADDR",
                            "TORCHELASTIC_RUN_ID"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  for (const char* name : kNames) unsetenv(name);
  std::string_view rest = text_of(data, size);
  while (!rest.empty()) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    for (const std::string name : kNames) {
      if (line.compare(0, name.size() + 1, name + "=") != 0) continue;
      setenv(name.c_str(), line.c_str() + name.size() + 1, 1);
    }
  }
  taken([] { fabric::mpi_from_environment(); });
  taken([] { fabric::code_folder_from_environment(fabric::kPluginsVariable); });
  taken([] {
    const auto launcher = fabric::launcher_from_environment();
    if (launcher &&
        (launcher->ranks < 1 || launcher->rank < 0 || launcher->rank >= launcher->ranks ||
         launcher->ranks_here < 0 || launcher->ranks_here > launcher->ranks)) {
      broken("a rank is one of those that were started");
    }
  });
  return 0;
}

// The variables that a process finds its place by: those of syncopate run and of other launchers.
// An input is lines NAME=VALUE; what is not a variable that we read is passed over.
#include <array>
#include <cstdlib>
#include <string>

#include "board/launcher_board.h"
#include "fabric/doorbell.h"
#include "fabric/job_environment.h"
#include "fabric/plugin.h"
#include "fabric/split.h"
#include "fuzz/refused.h"
#include "syncopate/world.h"

namespace {

constexpr std::array kVariables = {"SYNCOPATE_RANK",
                                   "SYNCOPATE_RANKS",
                                   "SYNCOPATE_BOARD",
                                   "SYNCOPATE_TIMEOUT",
                                   "SYNCOPATE_FABRIC",
                                   "SYNCOPATE_DOORBELL",
                                   "SYNCOPATE_SPLIT",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_RANK",
                                   "PMI_SIZE",
                                   "PMI_RANK",
                                   "PMIX_RANK",
                                   "SLURM_STEP_ID",
                                   "SLURM_PROCID",
                                   "SLURM_NTASKS",
                                   "SLURM_STEP_NUM_TASKS",
                                   "HYDI_CONTROL_FD",
                                   "WORLD_SIZE",
                                   "RANK",
                                   "LOCAL_RANK",
                                   "LOCAL_WORLD_SIZE",
                                   "TORCHELASTIC_RUN_ID",
                                   "MASTER_ADDR"};

void set(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return;
  for (const char* name : kVariables) {
    if (line.substr(0, equals) != name) continue;
    // As any variable, up to the first zero.
    ::setenv(name, std::string(line.substr(equals + 1)).c_str(), 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  for (const char* name : kVariables) ::unsetenv(name);
  std::string_view text = text_of(data, size);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    set(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Duration timeout{};
  if (taken([&] { timeout = board::timeout_from_environment(); }) &&
      (timeout <= Duration::zero() || timeout > board::kLongestTimeout)) {
    broken("a timeout is above 0 and within what a clock holds");
  }
  taken([] { fabric::mpi_from_environment(); });
  taken([] { fabric::doorbells_wanted(); });
  taken([] {
    const char* split = std::getenv(fabric::kSplitVariable);
    try {
      for (const int machine : fabric::parse_split(split == nullptr ? "" : split)) {
        if (machine < 1) broken("a machine has a rank");
      }
    } catch (const std::runtime_error& exception) {
      throw fabric::as_error(exception);
    }
  });
  std::optional<fabric::JobEnvironment> launcher;
  const bool found = taken([&] { launcher = fabric::launcher_from_environment(); });
  if (launcher && (launcher->ranks < 1 || launcher->rank < 0 || launcher->rank >= launcher->ranks))
    broken("a rank is one of those that the launcher started");
  // Alone or with others on a board that is not there: nothing to connect with, so it ends at once.
  if (found && !launcher) {
    taken([] {
      const World world = World::from_environment();
      if (world.rank() < 0 || world.rank() >= world.size()) broken("a rank is one of its world");
    });
  }
  return 0;
}

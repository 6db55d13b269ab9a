// The `syncopate` program. Training and measuring are programs beside it, so that what starts ranks
// is small and does not load libtorch.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/console/program.h"
#include "fabric/own_code.h"
#include "syncopate/error.h"

namespace {

using namespace syncopate;

/// A program beside this one, and what it takes to have it.
struct Program {
  const char* name;
  const char* lack;
  const char* remedy;
};
constexpr Program kTraining = {"syncopate-train",
                               "this syncopate was built without libtorch, which training needs",
                               "Install libtorch-dev and build it again"};
constexpr Program kBenchmarks = {"syncopate-bench", "syncopate-bench is not beside this program",
                                 "Install or build all of syncopate"};

struct Command {
  const char* name;
  const char* summary;
  const Program& program;
};
constexpr std::array kElsewhere = {
    Command{"train", "Train a workload with a strategy", kTraining},
    Command{"compare", "Compare strategies side by side on the same work", kTraining},
    Command{"workloads", "List what can be trained", kTraining},
    Command{"bench", "Measure the collectives, against MPI and Gloo if you like", kBenchmarks},
    Command{"tour", "Partial collectives in a minute, with late ranks", kBenchmarks}};

bool is_elsewhere(std::string_view command) {
  return std::ranges::any_of(kElsewhere, [&](auto& one) { return command == one.name; });
}

void add_elsewhere(CLI::App& app, char** arguments) {
  for (const auto& [name, summary, program] : kElsewhere) {
    auto* command = app.add_subcommand(name, summary)->prefix_command();
    // At once: whatever else is to be checked, the other program checks.
    command->immediate_callback()->callback([&program, arguments] {
      const auto file =
          std::filesystem::read_symlink("/proc/self/exe").replace_filename(program.name);
      if (::access(file.c_str(), X_OK) == 0) {
        // In a folder as /tmp another user may have added it.
        fabric::refuse_unless_safe("program", file, fabric::Chosen::by_us, nullptr);
        ::execv(file.c_str(), arguments);
      }
      throw Error(ErrorCode::environment, program.lack, program.remedy);
    });
  }
}

}  // namespace

int main(int count, char** arguments) {
  // Cut off here, so that the parser cannot touch what belongs to the command.
  char** end = arguments + count;
  char** mark = end;
  const std::string_view name = count > 1 ? arguments[1] : "";
  if (name == "run") {
    mark = std::find_if(arguments, end, [](std::string_view text) { return text == "--"; });
  } else if (is_elsewhere(name)) {
    mark = arguments + 2;
  }
  const std::vector<std::string> command(std::min(mark + 1, end), end);
  return cli::run_program(int(mark - arguments), arguments, [&](CLI::App& program, int& exit_code) {
    cli::add_run(program, command, exit_code);
    cli::add_strategies(program);
    add_elsewhere(program, arguments);
  });
}

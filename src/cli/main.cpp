// The `syncopate` program. What needs libtorch is another program beside it, so that nothing else
// has to load it.
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
#include "syncopate/error.h"

namespace {

using namespace syncopate;

constexpr const char* kTrainingProgram = "syncopate-train";
struct TrainingCommand {
  const char* name;
  const char* summary;
};
constexpr std::array kTrainingCommands = {
    TrainingCommand{"train", "Train a workload with a strategy"},
    TrainingCommand{"compare", "Strategies side by side on the same work"},
    TrainingCommand{"workloads", "List what can be trained"}};

bool is_training(std::string_view command) {
  return std::ranges::any_of(kTrainingCommands, [&](auto& one) { return command == one.name; });
}

void add_training(CLI::App& program, char** arguments) {
  for (const auto& [name, summary] : kTrainingCommands) {
    program.add_subcommand(name, summary)->prefix_command()->callback([arguments] {
      const auto beside =
          std::filesystem::read_symlink("/proc/self/exe").parent_path() / kTrainingProgram;
      ::execv(beside.c_str(), arguments);
      throw Error(ErrorCode::environment,
                  "this syncopate was built without libtorch, which training needs",
                  "Install libtorch-dev and build it again");
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
  } else if (is_training(name)) {
    mark = arguments + 2;
  }
  const std::vector<std::string> command(std::min(mark + 1, end), end);
  return cli::run_program(int(mark - arguments), arguments, [&](CLI::App& program, int& exit_code) {
    cli::add_run(program, command, exit_code);
    add_training(program, arguments);
    cli::add_strategies(program);
    cli::add_bench(program, exit_code);
    cli::add_tour(program, exit_code);
  });
}

#include "cli/console/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>

#include "base/printable.h"
#include "board/launcher_board.h"
#include "cli/console/arguments.h"
#include "fabric/doorbell.h"
#include "fabric/job_environment.h"
#include "fabric/plugin.h"
#include "fabric/split.h"
#include "syncopate/error.h"

namespace syncopate::cli {
namespace {

/// A program that was started with a closed standard stream must not get it back as a pipe.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.' && text.back() != '!' && text.back() != '?')
    text.push_back('.');
  return text;
}

/// "rank 3: " for one of several that a launcher has started, where each complains for itself.
std::string speaker() {
  if (std::getenv(board::kRankVariable) != nullptr) return "";
  try {
    const auto launcher = fabric::launcher_from_environment();
    return launcher ? fmt::format("rank {}: ", launcher->rank) : "";
  } catch (const Error&) {
    return "";
  }
}

int complain(const std::string& text, int exit_code) {
  // At once, so that the lines of several ranks do not mix.
  const std::string line = fmt::format("syncopate: {}{}\n", speaker(), base::printable(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
  return exit_code;
}

/// The commands that users are told of, as in "run, train".
std::string commands_of(const CLI::App& program) {
  std::string names;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

/// What the parser could not make sense of, and where help is.
std::string explanation(const CLI::App& program, const CLI::ParseError& error,
                        const std::string& first) {
  const auto found = program.get_subcommands();
  if (found.empty() && !first.empty() && !first.starts_with('-')) {
    return fmt::format("there is no command '{}'. Use one of: {}.", first, commands_of(program));
  }
  std::string command;
  for (auto below = found; !below.empty(); below = below.front()->get_subcommands()) {
    command += below.front()->get_name() + " ";
  }
  // The parser has the order in which they were typed, and names them in the other.
  const auto rest = program.remaining(/*recurse=*/true);
  const std::string what = error.get_exit_code() == int(CLI::ExitCodes::ExtrasError)
                               ? fmt::format("there is no place for {}", fmt::join(rest, " "))
                               : error.what();
  return fmt::format("{} 'syncopate {}--help' shows what is allowed.", sentence(what), command);
}

/// A wrong value in a variable is refused as one of an option is: before anything starts.
void check_variables() {
  try {
    board::timeout_from_environment();
    fabric::mpi_from_environment();
    fabric::doorbells_wanted();
    const char* split = std::getenv(fabric::kSplitVariable);
    fabric::parse_split(split == nullptr ? "" : split);
  } catch (const std::exception& exception) {
    const Error wrong = fabric::as_error(exception);
    throw Error(ErrorCode::invalid_argument, wrong.what_happened(), wrong.what_to_do());
  }
}

int parse(int count, char** arguments, const AddCommands& add) {
  int exit_code = 0;
  CLI::App program("Data-parallel training that does not wait for stragglers.", "syncopate");
  program.set_version_flag("--version", "syncopate " SYNCOPATE_VERSION, "Print the version");
  program.require_subcommand(0, 1);
  program.footer("'syncopate COMMAND --help' explains each command.");
  program.parse_complete_callback(check_variables);  // That is, before any command.
  add(program, exit_code);
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    throw UsageError(explanation(program, error, count > 1 ? arguments[1] : ""));
  }
  if (program.get_subcommands().empty()) {
    return complain(
        "there is no command; 'syncopate --help' lists them, for example: "
        "syncopate run -n 4 -- ./my_program",
        kWrongUse);
  }
  return exit_code;
}

std::string unwritten(int error) {
  const std::string reason = error != 0 ? fmt::format(": {}", std::strerror(error)) : "";
  return sentence("the output cannot be written" + reason);
}

/// What was printed and did not get there is no success.
int after_output(int exit_code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || exit_code != 0) return exit_code;  // A failure has been explained.
  return complain(unwritten(errno), kFailed);
}

int run_and_explain(int count, char** arguments, const AddCommands& add) {
  try {
    return parse(count, arguments, add);
  } catch (const Silence& silence) {
    return silence.exit_code;
  } catch (const UsageError& error) {
    return complain(error.what(), kWrongUse);
  } catch (const Error& error) {
    const bool refused = error.code() == ErrorCode::invalid_argument;
    return complain(sentence(error.what_happened()) + " " + sentence(error.what_to_do()),
                    refused ? kWrongUse : kFailed);
  } catch (const std::system_error& error) {
    const bool printing = std::ferror(stdout) != 0;
    return complain(printing ? unwritten(error.code().value()) : sentence(error.what()), kFailed);
  } catch (const std::exception& error) {
    return complain(sentence(error.what()), kFailed);
  }
}

}  // namespace

void refuse_under_launcher(const std::string& command, const std::string& instead) {
  const auto launcher = fabric::launcher_from_environment();
  if (!launcher || launcher->ranks == 1) return;
  throw UsageError(fmt::format("{} has started {} of '{}', which starts its ranks itself; {}",
                               fabric::to_string(launcher->kind), launcher->ranks, command,
                               instead));
}

int run_program(int count, char** arguments, const AddCommands& add) {
  open_standard_streams();
  return after_output(run_and_explain(count, arguments, add));
}

}  // namespace syncopate::cli

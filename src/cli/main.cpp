// The `syncopate` program: finds the command, runs it, and turns what went wrong into a sentence.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "syncopate/error.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

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

int complain(const std::string& text, int exit_code) {
  fmt::print(stderr, "syncopate: {}\n", text);
  return exit_code;
}

int run_program(int count, char** arguments) {
  // Cut off here, so that the parser cannot touch what belongs to the command.
  char** end = arguments + count;
  char** mark = end;
  if (count > 1 && std::string_view(arguments[1]) == "run")
    mark = std::find_if(arguments, end, [](std::string_view text) { return text == "--"; });
  const std::vector<std::string> command(mark == end ? end : mark + 1, end);

  int exit_code = 0;
  CLI::App program("Data-parallel training that does not wait for stragglers.", "syncopate");
  program.set_version_flag("--version", "syncopate " SYNCOPATE_VERSION, "Print the version");
  program.require_subcommand(0, 1);
  program.footer("'syncopate COMMAND --help' explains each command.");
  syncopate::cli::add_run(program, command, exit_code);
  syncopate::cli::add_bench(program, exit_code);
  syncopate::cli::add_tour(program, exit_code);

  try {
    program.parse(int(mark - arguments), arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    return complain(sentence(error.what()) + " 'syncopate --help' shows what is allowed.",
                    kWrongUse);
  }
  if (program.get_subcommands().empty()) {
    return complain(
        "there is no command; 'syncopate --help' lists them, for example: "
        "syncopate run -n 4 -- python train.py",
        kWrongUse);
  }
  return exit_code;
}

}  // namespace

int main(int count, char** arguments) {
  open_standard_streams();
  try {
    return run_program(count, arguments);
  } catch (const syncopate::cli::UsageError& error) {
    return complain(error.what(), kWrongUse);
  } catch (const syncopate::Error& error) {
    return complain(sentence(error.what_happened()) + " " + sentence(error.what_to_do()), kFailed);
  } catch (const std::exception& error) {
    return complain(sentence(error.what()), kFailed);
  }
}

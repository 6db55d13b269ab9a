// Command lines of `syncopate run` and `syncopate bench`, up to where something would start. An
// input is the arguments, one on each line, the first of them the command.
#include <string>
#include <vector>

#include "bench/suite/request.h"
#include "cli/console/arguments.h"
#include "cli/run_options.h"
#include "fuzz/refused.h"

namespace {

using namespace syncopate;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// As `taken`, for what is said of a command line.
template <typename Reader>
bool understood(const Reader& read) {
  try {
    return taken(read);
  } catch (const cli::UsageError& error) {
    const std::string_view text = error.what();
    if (text.empty()) broken("a refusal says why");
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7f) broken("a refusal is free of control characters");
    }
    return false;
  } catch (const CLI::ParseError&) {
    return false;  // The program makes a UsageError of it.
  }
}

/// Parses the arguments as the program does, in the reverse order that the parser wants.
void parse(CLI::App& command, std::vector<std::string> arguments) {
  command.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
}

void run(const std::vector<std::string>& arguments) {
  cli::TypedRun typed;
  CLI::App command;
  cli::add_run_options(command, typed);
  command.allow_extras();
  launch::LaunchOptions options;
  const bool good = understood([&] {
    parse(command, arguments);
    cli::refuse_rest(command.remaining());
    options = cli::checked_run(typed, {"true"});
  });
  if (!good) return;
  const auto sensible = [](double seconds) {
    return seconds >= 0 && seconds <= launch::kMostSeconds;
  };
  if (options.ranks < 1 || options.ranks > launch::kMostRanks)
    broken("the ranks are within bounds");
  if (!sensible(options.timeout_seconds.value_or(0)) ||
      !sensible(options.wait_timeout_seconds.value_or(0)) || !sensible(options.kill_after_seconds))
    broken("times are within bounds");
}

void bench(const std::vector<std::string>& arguments, const std::string& operation) {
  const cli::bench::Defaults defaults{.operation = operation, .ranks = 4, .bytes = "64,4K"};
  cli::bench::Typed typed;
  CLI::App command;
  cli::bench::add_common_options(command, typed, defaults);
  cli::bench::add_plain_options(command, typed);
  CLI::App skewed;
  cli::bench::add_common_options(skewed, typed, defaults);
  cli::bench::add_skew_options(skewed, typed, defaults);
  cli::bench::Request request;
  const bool good = understood([&] {
    parse(operation == "allreduce" ? command : skewed, arguments);
    typed.fabric.clear();  // These look for programs.
    typed.against.clear();
    request = cli::bench::checked(typed, defaults);
  });
  if (!good) return;
  for (const std::size_t bytes : request.work.bytes) {
    if (bytes < sizeof(float) || bytes % sizeof(float) != 0 || bytes > std::size_t{16} << 30)
      broken("sizes are whole numbers of float32, and within bounds");
  }
  if (request.ranks < 1 || request.repetitions < 1 || !(request.timeout_seconds > 0))
    broken("there is something to measure");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> arguments = lines_of(text_of(data, size));
  if (arguments.empty()) return 0;
  const std::string command = arguments.front();
  arguments.erase(arguments.begin());
  if (command == "run") run(arguments);
  for (const char* operation : {"allreduce", "partial", "group"}) {
    if (command == operation) bench(arguments, operation);
  }
  return 0;
}

#include "bench/suite/side.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <sstream>

#include "bench/suite/rank.h"
#include "cli/console/phrases.h"
#include "launch/launcher.h"
#include "syncopate/world.h"

namespace syncopate::cli::bench {

namespace {

/// What a side writes to stderr. Shown only if it fails.
class Complaints {
 public:
  Complaints() : descriptor_(memfd_create("complaints", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("cannot make a file for the ranks' messages");
  }
  ~Complaints() { close(descriptor_); }
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  int descriptor() const { return descriptor_; }

  /// What is to be read after the news that it failed.
  std::string quoted() const {
    const std::string text = end();
    return text.empty() ? ", without a word" : ", and said\n" + text;
  }

 private:
  std::string end() const {
    constexpr off_t kEnough = 2000;
    const off_t size = lseek(descriptor_, 0, SEEK_END);
    std::string text(std::size_t(std::min(size, kEnough)), '\0');
    const ssize_t count = pread(descriptor_, text.data(), text.size(), size - off_t(text.size()));
    text.resize(std::size_t(std::max<ssize_t>(count, 0)));
    // The sentence that quotes it has an end of its own.
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  int descriptor_;
};

std::vector<nlohmann::json> parse_lines(const Side& side, const std::string& output) {
  std::vector<nlohmann::json> rows;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("{")) continue;
    rows.push_back(nlohmann::json::parse(line, nullptr, false));
    if (rows.back().is_discarded()) {
      throw std::runtime_error(fmt::format("{} printed what is not JSON: {}", side.name, line));
    }
  }
  return rows;
}

bool user_ended_it(int exit_code) {
  return std::ranges::any_of(std::array{SIGINT, SIGTERM, SIGHUP, SIGQUIT},
                             [=](int signal) { return exit_code == launch::kSignalCode + signal; });
}

}  // namespace

Side our_side(int ranks, const std::string& command) {
  return {.name = "syncopate",
          .note = "",
          .command = launch::this_program({command}),
          .environment = {},
          .processes = ranks};
}

Side our_side_here(const fabric::JobEnvironment& launcher) {
  Side side = {.name = "syncopate",
               .note = fmt::format("{}, started by {}", counted(launcher.ranks, "rank"),
                                   fabric::to_string(launcher.kind)),
               .command = {},
               .environment = {}};
  // Made with the first work, when everything has been checked.
  side.here = [world = std::make_shared<std::optional<World>>()](const nlohmann::json& work) {
    if (!*world) world->emplace(World::from_environment());
    return measure_here(**world, work.get<peers::Workload>());
  };
  return side;
}

std::vector<nlohmann::json> run_side(const Side& side, const nlohmann::json& work,
                                     double timeout_seconds) {
  if (side.here) return side.here(work);
  const Complaints complaints;
  launch::LaunchOptions options;
  options.ranks = side.processes;
  options.command = side.command;
  options.command.push_back(work.dump());
  options.environment = side.environment;
  options.timeout_seconds = timeout_seconds;
  options.output = launch::Output::captured;
  options.err = complaints.descriptor();
  const launch::LaunchResult result = launch::launch(options);
  if (user_ended_it(result.exit_code)) throw Interrupted{result.exit_code};
  if (result.exit_code == launch::kTimeoutCode) {
    throw std::runtime_error(
        fmt::format("{} had not measured everything after {:g} s, and was ended; give it more time "
                    "(--timeout) or less to do",
                    side.name, timeout_seconds));
  }
  if (result.exit_code != 0) {
    throw std::runtime_error(fmt::format("{} failed with exit code {}{}", side.name,
                                         result.exit_code, complaints.quoted()));
  }
  return parse_lines(side, result.ranks.at(0).output);
}

}  // namespace syncopate::cli::bench

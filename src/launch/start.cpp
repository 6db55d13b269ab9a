// How a job begins: each rank with its variables, its streams and its place on the board.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "launch/job.h"
#include "launch/process.h"
#include "world/layout.h"

namespace syncopate::launch {

namespace {

constexpr int kNotExecutableCode = 126;
constexpr int kNotFoundCode = 127;

/// A copy beyond the standard streams, so that putting it in their place disturbs no other.
Descriptor duplicate(int descriptor) {
  Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!copy.open()) throw std::system_error(errno, std::generic_category(), "fcntl");
  return copy;
}

std::string exec_failure(const std::string& command, int error) {
  const bool path = command.find('/') != std::string::npos;
  if (error == ENOENT && path && std::filesystem::exists(command)) {
    return fmt::format(
        "'{}' cannot be run: the interpreter it names in its first line is not there", command);
  }
  if (error == ENOENT)
    return fmt::format("there is no command '{}'; check its name and PATH", command);
  if (error == E2BIG) return fmt::format("'{}' cannot be run: its arguments are too long", command);
  return fmt::format("'{}' cannot be run: {}; it must be an executable file", command,
                     std::strerror(error));
}

}  // namespace

Job::Job(const LaunchOptions& options, int lifeline)
    : options_(options),
      lifeline_(lifeline),
      out_(options.out),
      err_(options.err),
      board_(options.ranks, world::layout_behind_roster()),
      ranks_(std::size_t(options.ranks)) {}

void Job::start_ranks() {
  const Descriptor null_input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  try {
    for (int number = 0; number < options_.ranks; ++number) {
      if (!start_rank(number, null_input.number())) break;
    }
  } catch (const std::system_error& failure) {
    say(
        fmt::format("no more than {} of {} ranks can be started: {}; allow more open files "
                    "(ulimit -n) or start fewer ranks",
                    running_, options_.ranks, failure.code().message()));
    conclude(1);
  }
  if (verdict_.code) kill_ranks();
}

Job::Variables Job::variables_of(int number) const {
  Variables variables{
      {board::kRankVariable, std::to_string(number)},
      {board::kRanksVariable, std::to_string(options_.ranks)},
      {board::kBoardVariable, board_.address()},
  };
  if (options_.wait_timeout_seconds) {
    variables.emplace_back(board::kTimeoutVariable,
                           fmt::format("{}", *options_.wait_timeout_seconds));
  }
  variables.insert(variables.end(), options_.environment.begin(), options_.environment.end());
  return variables;
}

Job::Outputs Job::open_outputs(int number) {
  if (options_.output == Output::raw) {
    return {.out = duplicate(options_.out), .err = duplicate(options_.err)};
  }
  Rank& rank = ranks_[std::size_t(number)];
  const auto width = std::to_string(options_.ranks - 1).size();
  const std::string prefix = fmt::format("[{:>{}}] ", number, width);
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  std::string* captured = options_.output == Output::captured ? &rank.outcome.output : nullptr;
  rank.out = std::make_unique<RankStream>(std::move(out.read), prefix, out_, captured);
  rank.err = std::make_unique<RankStream>(std::move(err.read), prefix, err_);
  return {.out = std::move(out.write), .err = std::move(err.write)};
}

bool Job::start_rank(int number, int null_input) {
  const ProgramImage image(options_.command, variables_of(number));
  const Outputs outputs = open_outputs(number);
  // A rank is not in the terminal's foreground group: reading from it would stop the rank.
  const bool reads = number == 0 && ::isatty(STDIN_FILENO) == 0;
  const StandardStreams streams{reads ? STDIN_FILENO : null_input, outputs.out.number(),
                                outputs.err.number()};
  const Started started = start_process(image, streams, signals_, open_files_.before());
  if (started.fork_error != 0) {
    say(
        fmt::format("no more than {} of {} ranks can be started: {}; allow more processes "
                    "(ulimit -u) or start fewer ranks",
                    number, options_.ranks, std::strerror(started.fork_error)));
    conclude(1);
    return false;
  }
  if (started.exec_error != 0) {
    say(exec_failure(options_.command[0], started.exec_error));
    conclude(started.exec_error == ENOENT ? kNotFoundCode : kNotExecutableCode);
    return false;
  }
  ranks_[std::size_t(number)].process = started.process;
  rank_of_[started.process] = number;
  ++running_;
  return true;
}

}  // namespace syncopate::launch

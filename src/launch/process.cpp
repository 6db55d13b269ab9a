#include "launch/process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/text.h"

namespace syncopate::launch {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (auto& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& variable : variables) replaced = replaced || variable.first == name;
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : variables) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

[[noreturn]] void become(const ProgramImage& image, const StandardStreams& streams,
                         const SignalScope& signals, const rlimit& open_files, pid_t parent,
                         int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above could take effect.
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);
  ::setrlimit(RLIMIT_NOFILE, &open_files);
  signals.restore();
  if (::dup2(streams.in, STDIN_FILENO) >= 0 && ::dup2(streams.out, STDOUT_FILENO) >= 0 &&
      ::dup2(streams.err, STDERR_FILENO) >= 0) {
    ::execvpe(image.arguments()[0], image.arguments(), image.environment());
  }
  const int error = errno;
  (void)!::write(report, &error, sizeof(error));
  ::_exit(EXIT_FAILURE);
}

/// The parent's number is the second field after the name, which may itself hold anything.
pid_t parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  if (!std::getline(file, text, '\0')) return -1;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || text.size() < name_end + 5) return -1;
  const auto parent = base::leading_number<pid_t>(std::string_view(text).substr(name_end + 4));
  return parent ? parent->value : -1;
}

}  // namespace

ReaperScope::ReaperScope() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ReaperScope::~ReaperScope() { ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper_); }

OpenFilesScope::OpenFilesScope() {
  ::getrlimit(RLIMIT_NOFILE, &before_);
  // Two pipes per rank do not fit into the usual 1024 for the largest jobs.
  const rlimit raised{before_.rlim_max, before_.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
}

OpenFilesScope::~OpenFilesScope() { ::setrlimit(RLIMIT_NOFILE, &before_); }

ProgramImage::ProgramImage(std::vector<std::string> command,
                           const std::vector<std::pair<std::string, std::string>>& variables)
    : arguments_(std::move(command)),
      environment_(merged_environment(variables)),
      argument_pointers_(pointers_to(arguments_)),
      environment_pointers_(pointers_to(environment_)) {}

Started start_process(const ProgramImage& image, const StandardStreams& streams,
                      const SignalScope& signals, const rlimit& open_files) {
  // Closed by a successful exec, so that its end tells of success and a number in it of failure.
  Pipe report = make_pipe();
  const pid_t parent = ::getpid();
  pid_t process = -1;
  {
    const SignalsBlocked until_both_are_ready;
    process = ::fork();
    if (process < 0) return {.fork_error = errno};
    if (process == 0) become(image, streams, signals, open_files, parent, report.write.number());
  }
  report.write.close();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report.read.number(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got == ssize_t(sizeof(error))) {
    ::waitpid(process, nullptr, 0);
    return {.exec_error = error};
  }
  return {.process = process};
}

std::vector<pid_t> children() {
  const pid_t self = ::getpid();
  std::vector<pid_t> found;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", unreadable)) {
    const auto process = base::number<pid_t>(entry.path().filename().string());
    if (process && parent_of(entry.path()) == self) found.push_back(*process);
  }
  return found;
}

}  // namespace syncopate::launch

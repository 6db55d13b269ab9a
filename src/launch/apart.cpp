#include "launch/apart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>
#include <system_error>

#include "launch/job.h"
#include "launch/report.h"

namespace syncopate::launch {

namespace {

constexpr int kKillPauseMilliseconds = 10;

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t taken = ::write(descriptor, text.data(), text.size());
    if (taken < 0 && errno != EINTR) return;
    if (taken > 0) text.remove_prefix(std::size_t(taken));
  }
}

/// The life of the process that has the ranks.
[[noreturn]] void live_apart(const LaunchOptions& options, Pipe lifeline, Pipe report) {
  // The terminal's signals go to its foreground group: they come here once, passed on.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "syncopate-job");
  lifeline.write.close();
  report.read.close();
  write_all(report.write.number(),
            report_of([&] { return Job(options, lifeline.read.number()).run(); }));
  ::_exit(0);
}

/// Reads what the job's process says at its end, and passes on the signals that come meanwhile.
std::string await_report(int descriptor, pid_t process, const SignalScope& signals,
                         std::set<int>& passed_on) {
  std::string text;
  std::array<char, 65536> buffer;  // NOLINT: left uninitialized, read() fills it
  std::array<pollfd, 2> polled{{{descriptor, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
  for (;;) {
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    while (const auto signal = signals.next()) {
      if (*signal == SIGCHLD) continue;
      passed_on.insert(*signal);
      ::kill(process, *signal);
    }
    if (polled[0].revents == 0) continue;
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), std::size_t(got));
  }
}

/// Kills the children that this process has got since it had `before`, and those that come to light
/// by that. Their parent was killed.
void sweep(const std::set<pid_t>& before) {
  const auto deadline = std::chrono::steady_clock::now() + kKillPatience;
  for (bool any = true; any && std::chrono::steady_clock::now() < deadline;) {
    any = false;
    for (const pid_t child : children()) {
      if (before.contains(child)) continue;
      any = true;
      ::kill(child, SIGKILL);
      // One that dies slowly is met again in the next turn.
      if (::waitpid(child, nullptr, WNOHANG) == 0) ::poll(nullptr, 0, kKillPauseMilliseconds);
    }
  }
}

LaunchResult lost(const LaunchOptions& options, int status, const std::set<int>& passed_on) {
  RankOutcome end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = std::max(WEXITSTATUS(status), 1);
  }
  // A signal that came before the job had begun has ended it, as it should.
  if (!end.signal || !passed_on.contains(*end.signal)) {
    write_all(options.err, fmt::format("syncopate: the process that looks after the ranks {}; they "
                                       "and what they had started are ended\n",
                                       end.description()));
  }
  LaunchResult result{.exit_code = end.code()};
  result.ranks.resize(std::size_t(options.ranks));
  return result;
}

}  // namespace

LaunchResult run_apart(const LaunchOptions& options) {
  Pipe lifeline = make_pipe();
  Pipe report = make_pipe();
  const std::vector<pid_t> children_before = children();
  const std::set<pid_t> before(children_before.begin(), children_before.end());
  const pid_t process = ::fork();
  if (process < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process == 0) live_apart(options, std::move(lifeline), std::move(report));
  // Here as well, so that it is done before a signal is passed on.
  ::setpgid(process, process);
  lifeline.read.close();
  report.write.close();
  const SignalScope signals;
  const ReaperScope reaper;
  std::set<int> passed_on;
  const std::string text = await_report(report.read.number(), process, signals, passed_on);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (auto result = read_report(text)) return *std::move(result);
  sweep(before);
  return lost(options, status, passed_on);
}

}  // namespace syncopate::launch

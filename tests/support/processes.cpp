#include "support/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "world/layout.h"

namespace syncopate::testing {
namespace {

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

[[noreturn]] void live(int rank, const Processes::Body& body) {
  const bool failed_before = ::testing::Test::HasFailure();
  int code = 0;
  try {
    body(rank);
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", rank, error.what());
    code = 1;
  }
  if (!failed_before && ::testing::Test::HasFailure()) code = 1;
  std::fflush(nullptr);
  _exit(code);  // Not exit: what the test's process set up is not this one's to tear down.
}

}  // namespace

Processes::Processes(int ranks, const Body& body)
    : board_(ranks, world::layout_behind_roster()), ranks_(ranks) {
  const sigset_t set = child_signal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  child_events_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  std::fflush(nullptr);  // Or every child would print what is still in the buffers.
  for (int rank = 0; rank < ranks; ++rank) start(rank, body);
}

void Processes::start(int rank, const Body& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const sigset_t set = child_signal();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    setenv(board::kRankVariable, std::to_string(rank).c_str(), 1);
    setenv(board::kRanksVariable, std::to_string(ranks_.size()).c_str(), 1);
    setenv(board::kBoardVariable, board_.address().c_str(), 1);
    live(rank, body);
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  ranks_[rank].pid = pid;
  ranks_[rank].output = ends[0];
}

Processes::~Processes() {
  for (Rank& rank : ranks_) {
    if (!rank.ended && rank.pid > 0) {
      kill(rank.pid, SIGKILL);
      waitpid(rank.pid, nullptr, 0);
    }
    if (rank.output >= 0) close(rank.output);
  }
  close(child_events_);
  const sigset_t set = child_signal();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Processes::send(int rank, int signal) {
  if (!ranks_[rank].ended) kill(ranks_[rank].pid, signal);
}

void Processes::after(std::chrono::milliseconds delay, std::function<void()> act) {
  agenda_.emplace(Clock::now() + delay, std::move(act));
}

void Processes::act_in_time() {
  while (!agenda_.empty() && agenda_.begin()->first <= Clock::now()) {
    const auto act = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    act();
  }
}

void Processes::read_output(int index) {
  Rank& rank = ranks_[index];
  char text[4096];
  for (;;) {
    const ssize_t bytes = read(rank.output, text, sizeof text);
    if (bytes < 0) return;
    if (bytes == 0) break;
    rank.ending.said.append(text, bytes);
    rank.partial_line.append(text, bytes);
    std::size_t end;
    while ((end = rank.partial_line.find('\n')) != std::string::npos) {
      const std::string line = rank.partial_line.substr(0, end);
      rank.partial_line.erase(0, end + 1);
      if (on_line) on_line(index, line);
    }
  }
  close(rank.output);
  rank.output = -1;
}

void Processes::reap() {
  signalfd_siginfo info;
  while (read(child_events_, &info, sizeof info) > 0) {
  }
  for (int index = 0; index < static_cast<int>(ranks_.size()); ++index) {
    Rank& rank = ranks_[index];
    int status = 0;
    while (!rank.ended && waitpid(rank.pid, &status, WNOHANG | WUNTRACED) == rank.pid) {
      if (WIFSTOPPED(status)) {
        if (on_stop) on_stop(index);
        continue;
      }
      rank.ended = true;
      if (WIFEXITED(status)) rank.ending.code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) rank.ending.signal = WTERMSIG(status);
      if (rank.output >= 0) read_output(index);
      if (on_end) on_end(index);
    }
  }
}

bool Processes::all_over() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.ended; });
}

std::string Processes::unfinished() const {
  RankSet ranks(static_cast<int>(ranks_.size()));
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].ended) ranks.insert(static_cast<int>(rank));
  }
  return to_string(ranks);
}

std::vector<Ending> Processes::wait(std::chrono::seconds deadline) {
  const auto end = Clock::now() + deadline;
  for (;;) {
    reap();
    act_in_time();
    if (all_over()) break;
    const auto now = Clock::now();
    if (now >= end) {
      ADD_FAILURE() << "after " << deadline.count() << " s these ranks still run: " << unfinished();
      for (Rank& rank : ranks_) {
        if (!rank.ended) kill(rank.pid, SIGKILL);
      }
      for (Rank& rank : ranks_) {
        if (!rank.ended) waitpid(rank.pid, nullptr, 0);
        rank.ended = true;
      }
      break;
    }
    auto until = end;
    if (!agenda_.empty()) until = std::min(until, agenda_.begin()->first);
    std::vector<pollfd> events{{.fd = child_events_, .events = POLLIN, .revents = 0}};
    for (const Rank& rank : ranks_) {
      if (rank.output >= 0) events.push_back({.fd = rank.output, .events = POLLIN, .revents = 0});
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    poll(events.data(), events.size(), static_cast<int>(std::max<long>(wait.count(), 0)));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].output >= 0) read_output(static_cast<int>(rank));
    }
  }
  std::vector<Ending> endings;
  for (const Rank& rank : ranks_) endings.push_back(rank.ending);
  return endings;
}

void on_processes(int ranks, const std::function<void(World&)>& body) {
  Processes processes(ranks, [&](int) {
    World world = World::from_environment();
    body(world);
  });
  const std::vector<Ending> endings = processes.wait();
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(endings[rank].code, 0)
        << "rank " << rank << ", signal " << endings[rank].signal << ", said:\n"
        << endings[rank].said;
  }
}

}  // namespace syncopate::testing

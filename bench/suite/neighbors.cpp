#include "bench/suite/neighbors.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

namespace syncopate::cli::bench {
namespace {

/// The `number`-th of the cores that this process may use, counted round.
int usable_core(int number) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) == 0) return 0;
  int left = number % CPU_COUNT(&mask);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask) && left-- == 0) return core;
  }
  return 0;
}

[[noreturn]] void be_busy(const NeighborOptions& options, int number) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "neighbor");
  // A session of its own, as someone else's process has: the kernel may share cores between
  // sessions.
  ::setsid();
  if (options.pinned) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(usable_core(number), &mask);
    ::sched_setaffinity(0, sizeof mask, &mask);
  }
  if (options.nice > 0) ::setpriority(PRIO_PROCESS, 0, options.nice);
  for (volatile unsigned count = 0;;) count = count + 1;
}

}  // namespace

Neighbors::Neighbors(const NeighborOptions& options) {
  const pid_t parent = ::getpid();
  for (int number = 0; number < options.count; ++number) {
    const pid_t process = ::fork();
    if (process == 0) {
      if (::getppid() != parent) ::_exit(1);
      be_busy(options, number);
    }
    if (process < 0) {
      const std::string reason = std::strerror(errno);
      end();
      throw std::runtime_error("a neighbor cannot be started: " + reason);
    }
    processes_.push_back(process);
  }
}

Neighbors::~Neighbors() { end(); }

void Neighbors::end() {
  for (const pid_t process : processes_) ::kill(process, SIGKILL);
  for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
  processes_.clear();
}

}  // namespace syncopate::cli::bench

#include "launch/guard.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <new>
#include <system_error>

#include "launch/signals.h"

namespace syncopate::launch {

namespace {

using Group = std::atomic<pid_t>;

std::span<Group> shared_groups(int ranks) {
  const auto count = std::size_t(ranks);
  void* memory = ::mmap(nullptr, count * sizeof(Group), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  auto* groups = static_cast<Group*>(memory);
  for (std::size_t i = 0; i < count; ++i) new (groups + i) Group(0);
  return {groups, count};
}

/// Every signal is blocked here for ever.
[[noreturn]] void keep_guard(std::span<Group> groups, int lifeline) {
  ::setsid();
  ::prctl(PR_SET_NAME, "syncopate-guard");
  // Whoever reads the launcher's output must see its end when the launcher has ended.
  ::dup2(lifeline, 0);
  ::close_range(1, UINT_MAX, 0);
  char nothing = 0;
  while (::read(0, &nothing, 1) < 0 && errno == EINTR) {
  }
  for (const Group& group : groups) {
    if (group > 0) ::kill(-group, SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

Guard::Guard(int ranks) : groups_(shared_groups(ranks)) {
  Pipe pipe = make_pipe();
  const SignalsBlocked until_both_are_ready;
  process_ = ::fork();
  // Without a guard the job runs just as well; only a SIGKILL of the launcher is less tidy.
  if (process_ < 0) return;
  if (process_ == 0) {
    pipe.write.close();
    keep_guard(groups_, pipe.read.number());
  }
  lifeline_ = std::move(pipe.write);
}

Guard::~Guard() {
  for (Group& group : groups_) group = 0;
  lifeline_.close();
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
  ::munmap(groups_.data(), groups_.size_bytes());
}

}  // namespace syncopate::launch

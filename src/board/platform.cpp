#include "board/platform.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/control_groups.h"
#include "board/contention.h"
#include "syncopate/error.h"

namespace syncopate::board {
namespace {

using namespace std::chrono_literals;

/// Free cores: long enough to cover a round of small vectors, short against any training step.
constexpr Eagerness kOnFreeCores{.look = 200us, .alone = 5us};
/// Oversubscribed: the rank that is waited for may need this very core. Offering it costs less than
/// a sleep and a wake-up, for as long as a round takes.
constexpr Eagerness kOversubscribed{.look = 100us, .alone = 0us};

struct ProcessStatus {
  char state = '?';
  std::uint64_t started = 0;
  bool found = false;
};

ProcessStatus read_status(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  // The command name may hold spaces and brackets; the fields start after the last bracket.
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(line.substr(end + 1));
  ProcessStatus status;
  fields >> status.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  status.found = static_cast<bool>(fields >> status.started);
  return status;
}

int read_quota() {
  const double cores = std::min<double>(base::ControlGroups().cores(), INT_MAX);
  return std::max(1, static_cast<int>(std::lround(cores)));
}

class ThreadPlatform : public Platform {
 public:
  Time now() override {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return Time{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  void park(Shared<std::uint32_t>& word, std::uint32_t expected, Time until) override {
    step(Step::park);
    timespec deadline{.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
    // FUTEX_WAIT_BITSET takes an absolute time, so an early wake-up costs no arithmetic.
    syscall(SYS_futex, word.address(), FUTEX_WAIT_BITSET, expected,
            until == kNever ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  }

  void wake(Shared<std::uint32_t>& word, int count) override {
    syscall(SYS_futex, word.address(), FUTEX_WAKE, count, nullptr, nullptr, 0);
  }

  bool alive(int /*local_rank*/, const ProcessId& /*process*/) override { return true; }

  std::string describe(const ProcessId& /*process*/) override { return "a thread"; }

  Eagerness eagerness(bool oversubscribed) const override {
    return oversubscribed ? kOversubscribed : kOnFreeCores;
  }

  Time yield(Time now) override {
    sched_yield();
    const Time back = this->now();
    crowding_.note_yield(back - now, back);
    return back;
  }

  bool crowded(Time now) const override { return crowding_.crowded(now); }

  int core() const override { return sched_getcpu(); }

  Time move_to(const Cores::Mask& cores, Time now) override {
    cpu_set_t own;
    cpu_set_t wanted;
    if (sched_getaffinity(0, sizeof own, &own) != 0) return now;
    CPU_ZERO(&wanted);
    for (int core = 0; core < std::min<int>(Cores::kMost, CPU_SETSIZE); ++core) {
      if ((cores[core / 64] >> (core % 64) & 1) != 0) CPU_SET(core, &wanted);
    }
    if (sched_setaffinity(0, sizeof wanted, &wanted) == 0) sched_setaffinity(0, sizeof own, &own);
    return this->now();
  }

  Cores cores() const override {
    static const int quota = read_quota();  // A container's limits do not change under way.
    Cores cores{.quota = quota};
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
    for (int core = 0; core < Cores::kMost; ++core) {
      if (CPU_ISSET(core, &mask)) cores.mask[core / 64] |= std::uint64_t{1} << (core % 64);
    }
    return cores;
  }

 private:
  static inline ContentionDetector crowding_;  ///< Of the process.
};

class ProcessPlatform final : public ThreadPlatform {
 public:
  explicit ProcessPlatform(int ranks) : watches_(ranks) {}
  ~ProcessPlatform() override {
    for (const Watch& watch : watches_) {
      if (watch.descriptor >= 0) close(watch.descriptor);
    }
  }
  ProcessPlatform(const ProcessPlatform&) = delete;
  ProcessPlatform& operator=(const ProcessPlatform&) = delete;

  bool alive(int local_rank, const ProcessId& process) override {
    Watch& watch = watches_[local_rank];
    if (watch.descriptor < 0 && !watch.unsupported) {
      watch.descriptor = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
      if (watch.descriptor < 0 && errno == ESRCH) return false;
      if (watch.descriptor < 0) watch.unsupported = true;
      // Opened by number: make sure that the number still means the same process. A status that
      // cannot be read, for want of file descriptors, says nothing.
      const ProcessStatus status = read_status(process.pid);
      watch.replaced = status.found && status.started != process.started;
    }
    if (watch.replaced) return false;
    if (watch.descriptor >= 0) {
      pollfd ended{.fd = watch.descriptor, .events = POLLIN, .revents = 0};
      return poll(&ended, 1, 0) <= 0;
    }
    const ProcessStatus status = read_status(process.pid);
    if (!status.found) return kill(static_cast<pid_t>(process.pid), 0) == 0 || errno != ESRCH;
    return status.started == process.started && status.state != 'Z' && status.state != 'X';
  }

  std::string describe(const ProcessId& process) override {
    std::string text = "pid " + std::to_string(process.pid);
    const char state = read_status(process.pid).state;
    if (state == 'T' || state == 't') text += ", stopped";
    return text;
  }

 private:
  struct Watch {
    int descriptor = -1;
    bool unsupported = false;  ///< No pidfd on this kernel: ask /proc each time.
    bool replaced = false;     ///< A later process has its number.
  };
  std::vector<Watch> watches_;
};

}  // namespace

int Cores::count() const {
  int cores = 0;
  for (const std::uint64_t word : mask) cores += std::popcount(word);
  return std::clamp(cores, 1, quota);
}

std::unique_ptr<Platform> make_process_platform(int ranks) {
  return std::make_unique<ProcessPlatform>(ranks);
}

std::unique_ptr<Platform> make_thread_platform() { return std::make_unique<ThreadPlatform>(); }

void become_servant(const char* name) {
  pthread_setname_np(pthread_self(), name);
  struct {  // The kernel's sched_attr; glibc has no name for it yet.
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  constexpr std::uint64_t kShortestAllowed = 100'000;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // The user has made a choice for this thread.
  attributes.runtime = kShortestAllowed;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

ProcessId this_process() {
  const auto pid = static_cast<std::uint32_t>(getpid());
  const ProcessStatus status = read_status(pid);
  // By the time of its start the others tell this process from a later one with the same number.
  // Without it they would take it for dead.
  if (!status.found) {
    throw Error(ErrorCode::environment, "this process cannot read /proc/self/stat",
                "Allow it more open files (ulimit -n), and see that /proc is there");
  }
  return {.pid = pid, .started = status.started};
}

}  // namespace syncopate::board

// What a rank needs from the machine it runs on: a clock, a way to sleep until a word changes, and
// news of who is alive. The real one asks the kernel; tests have one with a clock of its own.
#pragma once

#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <memory>
#include <string>

#include "board/shared.h"

namespace syncopate::board {

using Duration = std::chrono::nanoseconds;
/// Nanoseconds on a clock that all ranks of the machine share and that never goes back.
using Time = std::int64_t;

inline constexpr Time kNever = INT64_MAX;
/// `time` and so much more, which may be never.
constexpr Time later(Time time, Time more) { return time > kNever - more ? kNever : time + more; }

/// A process, told apart from a later one with the same number.
struct ProcessId {
  std::uint32_t pid = 0;
  std::uint64_t started = 0;  ///< In clock ticks since the machine booted.
};

/// How long to look before sleeping. On free cores a short spin saves two system calls; on
/// oversubscribed ones it only takes the core from the rank that is waited for.
struct Eagerness {
  Duration look{0};   ///< How long to look for news before sleeping.
  Duration alone{0};  ///< How much of it without offering the core to others.
};

struct Cores {
  static constexpr int kMost = 1024;
  using Mask = std::array<std::uint64_t, kMost / 64>;

  Mask mask{};          ///< Those that this process may run on, as bits.
  int quota = INT_MAX;  ///< How many at once a container's quota allows its processes together.

  /// How many can be used at once.
  int count() const;
};

class Platform {
 public:
  virtual ~Platform() = default;

  virtual Time now() = 0;
  /// Sleeps while `word` is `expected`, but not past `until`. May return early.
  virtual void park(Shared<std::uint32_t>& word, std::uint32_t expected, Time until) = 0;
  /// Wakes up to `count` ranks that sleep on `word`.
  virtual void wake(Shared<std::uint32_t>& word, int count) = 0;
  /// How often ranks that wait, and agents, ask whether the others live: kNever where the platform
  /// tells of deaths by itself, with news for all who wait.
  virtual Time look_after_every() const { return 20'000'000; }
  /// Whether the process that holds seat `rank` still runs (a stopped one does).
  virtual bool alive(int local_rank, const ProcessId& process) = 0;
  /// "pid 4711, stopped", for messages.
  virtual std::string describe(const ProcessId& process) = 0;
  virtual Eagerness eagerness(bool oversubscribed) const = 0;
  /// Offers the core to others, at `now`; returns when it is back.
  virtual Time yield(Time now) = 0;
  /// Whether others need it so much that this takes long: then to sleep is shorter.
  virtual bool crowded(Time now) const = 0;
  virtual Cores cores() const = 0;
  /// The one that this thread runs on; -1 if that is not known.
  virtual int core() const { return -1; }
  /// Moves this thread to one of these cores, at `now`; returns when it is there. Where it may run
  /// stays as it was, so that the kernel can move it again.
  virtual Time move_to(const Cores::Mask& /*cores*/, Time now) { return now; }
};

std::unique_ptr<Platform> make_process_platform(int ranks);
/// For ranks that are threads of one process: they live as long as it does.
std::unique_ptr<Platform> make_thread_platform();

/// Throws Error if /proc does not tell.
ProcessId this_process();

/// For a thread of ours in the process of a rank, which wants a core seldom, and then at once:
/// tools show its name, of up to 15 letters, and it asks for short slices of time. Who does gets
/// its next one sooner where others compute, since Linux 6.12; elsewhere that changes nothing.
void become_servant(const char* name);

}  // namespace syncopate::board

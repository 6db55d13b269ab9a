// Drives an agent in the process of its machine's first rank, from one thread at a time: a thread
// of its own, that rank while it waits, or the bell's when it was rung. There is no way to sleep
// until a message of MPI comes, so the thread looks often while a rank waits, and seldom while none
// does. Over a fabric that says when there is something to do (fabric::Fabric::descriptor()) it
// sleeps, and a watch does the agent's work when something has come.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "agent/agent.h"
#include "agent/control_memory.h"
#include "agent/driver.h"
#include "agent/mailbox.h"
#include "agent/polling.h"
#include "board/event.h"
#include "board/platform.h"
#include "board/roster.h"
#include "fabric/doorbell.h"
#include "fabric/watch.h"
#include "syncopate/policy.h"

namespace syncopate::agent {

class AgentThread final : public AgentDriver {
 public:
  using Time = board::Time;

  /// Makes such drivers, with a platform of its own for each.
  static MakeAgentDriver maker(std::function<std::unique_ptr<board::Platform>()> make_platform);
  AgentThread(AgentParts parts, std::unique_ptr<board::Platform> platform);
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;
  ~AgentThread() override { AgentThread::finish(); }

  void finish() override;
  void set_timeout(Duration timeout) override;

  /// Does the agent's work on the thread of a rank that waits for its end anyway, which spares two
  /// changes of threads: until there is news after `seen`, or nothing more to do for now.
  void drive(const board::Event& event, std::uint64_t seen, Time until) override;

 private:
  void run();
  /// On the watch's thread: does the agent's work.
  void answer_watch();
  /// On the bell's thread: does the agent's work, if no other thread does, before it wakes the
  /// agent's.
  void answer_bell();
  /// After a turn on another thread than the agent's, which sleeps: wakes it if that is too long
  /// for a turn that should be at `again_at`.
  void hand_over(Time now, Time again_at);
  /// Has the agent's thread, or the rank that does its work, take another turn. Unlike a call of a
  /// rank this is no news.
  void nudge();
  /// Returns when the next should be without news.
  Time turn(Time now);
  /// Whether this thread, the agent's own, should take another turn at once, where so many threads
  /// want a core.
  bool stays_awake(Time now, const CpuBudget& here) const;
  Time nap(Time now, Time again_at, const CpuBudget& here);
  /// From here on the thread that looks sleeps.
  void arm_watch() {
    if (watch_) watch_->arm();
  }
  CpuBudget budget(Time now) const { return CpuBudget::of(roster_, *platform_, now); }

  ControlMemory memory_;
  std::unique_ptr<board::Platform> platform_;
  board::Roster roster_;
  AgentMailbox mailbox_;
  board::Shared<std::uint64_t> nudges_;
  std::atomic<bool> driven_ = false;  ///< A rank does the agent's work.

  std::mutex turn_;               ///< For the agent and what follows.
  std::unique_ptr<Agent> agent_;  ///< Gone once it is over.
  PollingPolicy polling_;
  struct LastTurn {
    std::uint64_t nudges = 0;  ///< That it saw.
    bool told = false;         ///< There was a message …
    bool moved = false;        ///< … or a call, or data have moved.
  } last_;
  Time sleeps_until_ = 0;  ///< The agent's thread, unless it is called.

  fabric::Doorbell bell_;               ///< After the agent, so that its thread ends first.
  std::optional<fabric::Watch> watch_;  ///< The same. Not where the fabric cannot be slept on.
  std::thread thread_;
};

}  // namespace syncopate::agent

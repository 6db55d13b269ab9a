// The agent of a machine: speaks to the other machines for the ranks of its own. It looks after the
// collectives of its machine (tasks), passes messages to them, tells the others which ranks have
// died, and notices when a machine is silent for too long.
//
// It has neither a thread nor a lock: its driver calls turn() again and again, from one thread at a
// time. In a real world that is AgentThread (thread.h), which also knows when to sleep.
//
// What fails here is told to every rank of this machine, and to the other agents.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/common_clock.h"
#include "agent/heartbeat.h"
#include "agent/mailbox.h"
#include "agent/messages.h"
#include "agent/peer_activity.h"
#include "agent/polling.h"
#include "agent/task.h"
#include "base/bad_message.h"
#include "board/platform.h"
#include "board/roster.h"
#include "fabric/bell.h"
#include "fabric/fabric.h"
#include "syncopate/policy.h"

namespace syncopate::detail {

class Agent {
 public:
  using Time = board::Time;

  /// `roster` and `mailbox` are the agent's own views of them. All that it is given by reference
  /// outlives it.
  Agent(std::unique_ptr<fabric::Fabric> fabric, const fabric::Topology& topology,
        board::Roster& roster, AgentMailbox& mailbox, board::Platform& platform, fabric::Bell& bell,
        std::unique_ptr<TaskSource> source, Duration timeout);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  /// Looks at everything once; returns when to do so again without news. `rung`: another machine
  /// has rung the bell, or the driver was woken for a turn. Throws nothing: what fails is told to
  /// all.
  Time turn(Time now, bool rung);
  /// Whether the ranks of all machines have left the world and nothing of theirs is under way, or a
  /// machine is lost. There are no turns from then on.
  bool over(Time now);
  /// A rank has news for some task: each of them works in the next turn.
  void hurry();
  /// May be called from any thread.
  void set_timeout(Duration timeout) { timeout_ = timeout.count(); }

  // For the driver, to decide when the next turn is.

  PollingPolicy& polling() { return polling_; }
  /// On the cores of this machine.
  CpuBudget budget(Time now) const {
    return {.ranks = roster_.local_size(),
            .cores = roster_.cores().count(),
            .crowded = platform_.crowded(now)};
  }
  /// Whether any machine that has something for this one rings.
  bool others_ring(Time now) const { return peers_.others_ring(now); }
  /// Whether there was a message in the last turn.
  bool told() const { return told_; }
  /// What the last turn saw of the ranks' calls (AgentMailbox::calls()).
  std::uint64_t calls_seen() const { return calls_; }

 private:
  using Kind = AgentMessage::Kind;

  Time look_at_everything(Time now, bool rung);
  void add_task(Time now);
  /// Whether there was any message that was not just a sign of life.
  bool receive(Time now);
  void hear(int from, const AgentMessage& message);
  void deliver(std::uint64_t task, int from, std::span<const std::byte> message);
  /// A message to a machine, as bytes.
  std::vector<std::byte> say(int machine, AgentMessage message);
  /// Sends a message, and rings where it may find an agent that sleeps.
  void send(int machine, const AgentMessage& message);
  void send_to_others(const AgentMessage& message);
  void rouse(int machine);
  void tell_bell(int machine);
  /// Whether machines can tell each other when something was, or have waited for long enough.
  bool can_tell_time(Time now);
  /// Whether it was time for it.
  bool look_after_ranks(Time now);
  void look_after_machines(Time now);
  /// Those of ranks that the tasks wait for, as far as is known.
  RankSet awaited_ranks() const;
  /// Whether there is still sense in staying when the agent's rank has left.
  void look_for_the_end(Time now);
  void note_awaited(Time now);
  void fail(const std::string& what_happened, const std::string& what_to_do);
  std::string describe(int machine) const;

  std::unique_ptr<fabric::Fabric> fabric_;
  const fabric::Topology topology_;
  board::Roster& roster_;
  AgentMailbox& mailbox_;
  board::Platform& platform_;
  fabric::Bell& bell_;
  std::unique_ptr<TaskSource> source_;
  std::atomic<std::int64_t> timeout_;

  std::unique_ptr<fabric::Channel> opened_;     ///< For the next task …
  std::unique_ptr<fabric::Operation> opening_;  ///< … while it is being opened.
  std::uint64_t made_ = 0;
  struct ScheduledTask {
    std::unique_ptr<AgentTask> task;
    Time again_at = 0;  ///< When it wants to work without news.
  };
  std::map<std::uint64_t, ScheduledTask> tasks_;
  /// Messages for tasks that are still to be made.
  std::map<std::uint64_t, std::vector<std::pair<int, std::vector<std::byte>>>> early_;

  std::vector<bool> told_bell_;   ///< Machines that know where this one's bell is.
  std::vector<bool> known_dead_;  ///< Ranks of this machine that the others have been told of.
  PeerActivity peers_;
  CommonClock clock_;
  Time clock_asked_at_ = 0;  ///< When the others' clock was first asked for; 0 before that.
  Heartbeat heartbeat_;
  std::vector<int> watched_;  ///< Machines that were last asked for signs of life.
  PollingPolicy polling_;
  Time gone_at_ = board::kNever;  ///< When the agent's rank had left.
  Time left_at_ = board::kNever;  ///< When every rank had left.
  Time awaited_at_ = 0;           ///< When the ranks were last told for whom they wait.
  Time ranks_seen_at_ = 0;
  std::uint64_t calls_ = 0;
  bool told_ = false;
  bool failed_ = false;
};

}  // namespace syncopate::detail

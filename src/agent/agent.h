// The agent of a machine: speaks to the other machines for the ranks of its own. It looks after the
// collectives of its machine (tasks), passes messages to them, tells the others which ranks have
// died, and notices when a machine is silent for too long.
//
// It has neither a thread nor a lock: its driver calls turn() again and again, from one thread at a
// time. In a real world that is AgentThread (thread.h), which also knows when to sleep.
//
// What fails here is told to every rank of this machine, and to the agents that this one watches
// (heartbeat.h), each of which does the same.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/common_clock.h"
#include "agent/heartbeat.h"
#include "agent/mailbox.h"
#include "agent/messages.h"
#include "agent/peer_activity.h"
#include "agent/polling.h"
#include "agent/post.h"
#include "agent/task_table.h"
#include "base/bad_message.h"
#include "board/platform.h"
#include "board/roster.h"
#include "fabric/bell.h"
#include "fabric/fabric.h"
#include "syncopate/policy.h"

namespace syncopate::agent {

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

  /// What a turn found, for the driver to decide when the next one is.
  struct Turn {
    Time again_at = board::kNever;  ///< When to look again without news.
    bool told = false;              ///< There was a message.
    bool news = false;              ///< There was one, or a rank called.
    PollingPolicy::Work work{};     ///< What is to be done.
  };
  /// Looks at everything once. `rung`: another machine has rung the bell, or the driver was woken
  /// for a turn. Throws nothing: what fails is told to all.
  Turn turn(Time now, bool rung);
  /// Whether the ranks of all machines have left the world and nothing of theirs is under way, or a
  /// machine is lost. There are no turns from then on.
  bool over(Time now);
  /// A rank has news for some task: each of them works in the next turn.
  void hurry(Time now);
  /// May be called from any thread.
  void set_timeout(Duration timeout) { timeout_ = timeout.count(); }

  /// Whether any machine that has something for this one rings.
  bool others_ring(Time now) const { return peers_.others_ring(now); }
  /// What the last turn saw of the ranks' calls (AgentMailbox::calls()).
  std::uint64_t calls_seen() const { return own_.calls; }

 private:
  using Kind = AgentMessage::Kind;

  Turn look_at_everything(Time now, bool rung);
  void add_task(Time now);
  /// Whether there was any message that was not just a sign of life.
  bool receive(Time now);
  void hear(int from, const AgentMessage& message, Time now);
  /// Whether machines can tell each other when something was, or have waited for long enough.
  bool can_tell_time(Time now);
  /// Whether it was time for it.
  bool look_after_ranks(Time now);
  void look_after_machines(Time now);
  /// Of those that this machine watches, which pass the question on so often.
  void ask_for_signs_of_life(Time now, int hops);
  /// Whether there is still sense in staying when the agent's rank has left.
  void look_for_the_end(Time now);
  void note_awaited(Time now);
  void fail(const std::string& what_happened, const std::string& what_to_do);
  /// Tells the ranks of this machine; there are no turns from then on.
  void give_up(const std::string& what_happened, const std::string& what_to_do);
  void tell_failure(const std::string& what_happened);
  std::string describe(int machine) const;

  std::unique_ptr<fabric::Fabric> fabric_;
  const fabric::Topology topology_;
  board::Roster& roster_;
  AgentMailbox& mailbox_;
  board::Platform& platform_;
  fabric::Bell& bell_;
  std::atomic<std::int64_t> timeout_;

  PeerActivity peers_;
  Heartbeat heartbeat_;
  CommonClock clock_;
  Post post_;
  TaskTable tasks_;
  struct OwnRanks {
    std::vector<bool> known_dead;  ///< Those that the others have been told of.
    Time seen_at = 0;              ///< When they were last looked after.
    std::uint64_t calls = 0;       ///< What the last turn saw of their calls.
  } own_;
  struct Moments {
    Time clock_asked = 0;               ///< The others' clock was first asked for; 0 before that.
    Time active = 0;                    ///< Something last happened.
    Time urgent_since = board::kNever;  ///< A rank may be waiting since then.
    Time awaited_told = 0;              ///< The ranks were last told for whom they wait.
    Time first_left = board::kNever;    ///< The agent's rank had left.
    Time all_left = board::kNever;      ///< Every rank had left.
  } at_;
  bool failed_ = false;
};

}  // namespace syncopate::agent

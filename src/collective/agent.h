// The agent of a machine: whoever speaks to other machines, one thread at a time, in the process of
// the machine's first rank: a thread of its own, that rank while it waits, or the bell's when it
// was rung. It looks after the collectives of its machine (tasks), passes messages to
// them, and sleeps as long as it can: there is no way to sleep until a message comes, so it looks
// for messages often while somebody waits and seldom while nobody does.
//
// What fails here is told to every rank of this machine, and to the other agents.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "board/agency.h"
#include "board/event.h"
#include "board/host.h"
#include "board/roster.h"
#include "board/segment.h"
#include "collective/contacts.h"
#include "collective/order.h"
#include "collective/region.h"
#include "collective/rest.h"
#include "collective/signs_of_life.h"
#include "fabric/doorbell.h"
#include "fabric/fabric.h"
#include "fabric/packet.h"
#include "syncopate/policy.h"

namespace syncopate::detail {

class Agent {
 public:
  using Time = board::Time;

  /// Something that the agent looks after. All its functions are called by one thread at a time.
  class Task {
   public:
    virtual ~Task() = default;
    /// Does what can be done; returns when to call again if there is no news: at once (`now`) if
    /// something is under way.
    virtual Time work(Time now) = 0;
    virtual void hear(int from, std::span<const std::byte> message) = 0;
    /// Whether somebody, here or elsewhere, may be waiting for what comes next.
    virtual bool urgent() const = 0;
    /// Whether data are on their way, which move only while somebody looks.
    virtual bool moving() const = 0;
    /// Grows as they move.
    virtual std::uint64_t moves() const = 0;
    /// For whom, as far as is known.
    virtual RankSet awaited() const = 0;
    virtual bool over() const = 0;
  };
  /// What a task is given.
  struct Means {
    std::unique_ptr<fabric::Channel> channel;
    std::function<void(int machine, std::span<const std::byte> message)> send;
    /// Something else is on its way to a machine where somebody waits for it.
    std::function<void(int machine)> rouse;
    const fabric::Place& place;
    board::Roster& roster;  ///< The agent's own view of it.
    board::Agency& agency;
    board::Host& host;
  };

  Agent(std::unique_ptr<fabric::Fabric> fabric, const fabric::Place& place,
        std::shared_ptr<board::Segment> segment, std::unique_ptr<board::Host> host,
        Duration timeout);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent() { finish(); }
  /// Returns when the ranks of all machines have left the world and nothing of theirs is under way,
  /// or a machine is lost. From then on the fabric is not used.
  void finish();

  void set_timeout(Duration timeout) { timeout_ = timeout.count(); }

  /// Does the agent's work on the thread of a rank that waits for its end anyway, which spares two
  /// changes of threads: until there is news after `seen`, or nothing more to do for now.
  void drive(const board::Event& event, std::uint64_t seen, Time until);

 private:
  enum class Kind : std::uint8_t {
    task,     // for one of the tasks
    ping,     // to be answered …
    pong,     // … by this
    dead,     // a rank of the sender's machine
    failure,  // the sender cannot go on
    bell,     // where the sender's rings
    way,      // by which the receiver has rung at the sender's
  };
  /// What every message begins with.
  struct Head {
    Kind kind = Kind::task;
    bool drowsy = false;  ///< The sender sleeps whenever it can.
  };
  struct Ordered {
    Order order;
    std::uint64_t offset = 0;  ///< Of its region.
  };

  void run();
  /// Looks at everything once; returns when to do so again without news. Under the turn's mutex.
  Time turn(Time now);
  Time turn_or_fail(Time now);
  /// On the bell's thread: does the agent's work, if nobody else does, before it wakes the agent.
  void answer_bell();
  /// After a turn on another thread than the agent's, which sleeps: wakes it if that is too long
  /// for a turn that should be at `again_at`.
  void hand_over(Time now, Time again_at);
  /// Has the agent's thread, or whoever does its work, take another turn. Unlike a call of a rank
  /// this is no news.
  void nudge();
  /// On the cores of this machine.
  Room room(Time now) const {
    return {.ranks = roster_.ranks(), .cores = roster_.cores(), .crowded = host_->crowded(now)};
  }
  bool over(Time now);
  /// Every machine takes the same orders in the same order.
  void take(const Order& order, bool agreed);
  void add_tasks();
  std::unique_ptr<Task> make(const Ordered& ordered, Means means);
  /// Whether there was any message that was not just a sign of life.
  bool receive(Time now);
  void deliver(std::uint64_t task, int from, std::span<const std::byte> message);
  void post(std::uint64_t task, int machine, std::span<const std::byte> message);
  /// The beginning of a message to a machine.
  fabric::Packer say(Kind kind, int machine);
  /// Sends a message, and rings where it may find nobody awake.
  void send(int machine, std::span<const std::byte> message);
  void rouse(int machine);
  void tell_bell(int machine);
  /// Whether it was time for it.
  bool look_after_ranks(Time now);
  void look_after_machines(Time now);
  /// Whether there is still sense in staying when the agent's rank has left.
  void look_for_the_end(Time now);
  void note_awaited(Time now);
  void fail(const std::string& what_happened, const std::string& what_to_do);
  std::string describe(int machine) const;

  std::unique_ptr<fabric::Fabric> fabric_;
  const fabric::Place place_;
  std::shared_ptr<board::Segment> segment_;
  std::shared_ptr<board::Mapping> control_;
  std::unique_ptr<board::Host> host_;
  board::Roster roster_;
  board::Agency agency_;
  std::atomic<std::int64_t> timeout_;
  std::atomic<bool> driven_ = false;  ///< A rank does the agent's work.

  std::mutex turn_;             ///< For all that follows.
  std::deque<Ordered> orders_;  ///< Not yet made; the first one's channel is being opened.
  RegionPlan regions_;
  std::unique_ptr<fabric::Channel> opened_;
  std::unique_ptr<fabric::Operation> opening_;
  std::uint64_t made_ = 0;
  struct Charge {
    std::unique_ptr<Task> task;
    Time again_at = 0;  ///< When it wants to work without news.
  };
  std::map<std::uint64_t, Charge> tasks_;
  std::map<std::uint64_t, std::vector<std::pair<int, std::vector<std::byte>>>> early_;

  board::Shared<std::uint64_t> nudges_;
  /// Calls this agent: from the first turn on, when others have been told of it, until the last.
  fabric::Doorbell bell_;
  std::vector<bool> told_bell_;   ///< Machines that know where it is.
  std::vector<bool> known_dead_;  ///< Ranks of this machine that the others have been told of.
  Contacts contacts_;
  SignsOfLife signs_of_life_;
  Time gone_at_ = board::kNever;  ///< When the agent's rank had left.
  Time left_at_ = board::kNever;  ///< When every rank had left.
  Time awaited_at_ = 0;           ///< When the ranks were last told for whom they wait.
  Time ranks_seen_at_ = 0;
  std::uint64_t calls_ = 0;        ///< What was seen of the calls …
  std::uint64_t nudges_seen_ = 0;  ///< … and of the nudges in the last turn.
  bool told_ = false;              ///< There was a message in the last turn.
  Rest rest_;
  Time sleeps_until_ = 0;  ///< The agent's thread, unless it is called.
  bool failed_ = false;
  std::thread thread_;
};

}  // namespace syncopate::detail

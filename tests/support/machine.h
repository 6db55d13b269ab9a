// A machine of its own for a few ranks: they run as fibers, one step of the protocol at a time,
// in an order that a test chooses and on a clock that a test owns. Ranks sleep, are stopped,
// go on and die as the test says. Nothing is random and nothing takes real time, so the same
// choices give the same run.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "board/platform.h"
#include "board/step.h"
#include "support/fibers.h"
#include "support/step_name.h"

namespace syncopate::testing {

using board::Step;
using board::Time;

/// Ranks as bits.
using Ranks = std::uint64_t;
constexpr Ranks bit(int rank) { return Ranks{1} << rank; }

class Machine {
 public:
  static constexpr int kMostRanks = 32;
  static constexpr int kNobody = -1;

  /// Who runs next. Asked before every step.
  class Scheduler {
   public:
    virtual ~Scheduler() = default;
    /// One of `ready`. `current` is the rank that would take step `at`; kNobody if the rank
    /// that ran last cannot go on.
    virtual int choose(Ranks ready, int current, Step at) = 0;
  };
  /// Looks at the state before every step. What it reads of the board steps nowhere.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void look(int rank, Step at) = 0;
    /// No rank can go on before the clock moves.
    virtual void idle() {}
  };
  enum class Outcome {
    finished,  // every rank came to its end or died
    stuck,     // no rank can ever go on
    endless,   // the limit of steps was reached
  };
  /// Something that happens to a rank: before the `step`th step of all, wherever the rank is, or
  /// before its own `step`th step of the kind `at`.
  struct Fault {
    enum class Kind : std::uint8_t { none, die, stop };
    Kind kind = Kind::none;
    int rank = 0;
    std::uint64_t step = 0;
    std::optional<Step> at = std::nullopt;
    Time duration = 0;  ///< Of a stop.
  };

  Machine();
  ~Machine();

  /// Runs `body(rank)` for every rank until all have ended. Errors that `body` throws are kept.
  Outcome run(int ranks, Scheduler& scheduler, const std::function<void(int)>& body);

  // To be set before a run; reset() takes everything back.
  void reset();
  void observe(Observer* observer) { observer_ = observer; }
  void limit_steps(std::uint64_t most) { most_steps_ = most; }
  /// Time that passes with every step.
  void tick(Time time) { tick_ = time; }
  /// Every n-th sleep ends at once, as the kernel may have it. 0: none.
  void wake_early(int every) { early_every_ = every; }
  void add_fault(const Fault& fault) { faults_.push_back(fault); }
  /// Calls `event` when the clock reaches `time`. Events of one time keep their order.
  void at(Time time, std::function<void()> event);

  // For ranks, while they run.
  void sleep_until(Time time);
  /// A step of the test's own: others may run here.
  void pause() { step(Step::read); }

  // At any time.
  Time now() const { return now_; }
  bool alive(int rank) const { return (dead_ & bit(rank)) == 0; }
  bool stopped(int rank) const { return (stopped_ & bit(rank)) != 0; }
  bool ended(int rank) const { return (ended_ & bit(rank)) != 0; }
  bool parked(int rank) const { return seats_[rank].word != nullptr; }
  void kill(int rank);
  void stop(int rank, Time until = board::kNever);
  void resume(int rank);
  std::uint64_t steps() const { return steps_; }
  int running() const { return running_; }
  /// What `body` threw on this rank.
  const std::exception_ptr& error(int rank) const { return seats_[rank].error; }

  // The host's side.
  void park(int rank, const void* word, Time until);
  void wake(const void* word, int count);

 private:
  struct Seat {
    Fiber fiber;
    const void* word = nullptr;  ///< What it sleeps on.
    std::uint64_t order = 0;     ///< Who went to sleep first is woken first.
    Time until = board::kNever;
    Time continue_at = board::kNever;
    std::exception_ptr error;
    bool begun = false;
  };
  struct Event {
    Time time;
    std::function<void()> event;
  };
  struct Ending {};  ///< Thrown through a fiber whose run is over, to free what it holds.

  static void hook(Step at);
  static void enter(void* machine);
  void step(Step at);
  void inject_faults(Step at);
  void go_on(Step at);
  void leave_for(int rank);
  int choose(int current, Step at);
  bool advance_clock();
  void pass_time(Time time);
  void finish(Outcome outcome);
  void unwind();

  std::array<Seat, kMostRanks> seats_;
  Fiber main_;
  Scheduler* scheduler_ = nullptr;
  Observer* observer_ = nullptr;
  const std::function<void(int)>* body_ = nullptr;
  Outcome outcome_ = Outcome::finished;
  int ranks_ = 0;
  int running_ = kNobody;
  bool unwinding_ = false;

  Ranks all_ = 0;
  Ranks awake_ = 0;  ///< Neither parked nor sleeping nor ended.
  Ranks stopped_ = 0;
  Ranks dead_ = 0;
  Ranks ended_ = 0;
  Time now_ = 0;
  Time next_timer_ = board::kNever;  ///< Nothing happens by the clock before this.
  std::uint64_t steps_ = 0;
  std::uint64_t sleeps_ = 0;

  std::uint64_t most_steps_ = UINT64_MAX;
  Time tick_ = 0;
  int early_every_ = 0;
  std::vector<Fault> faults_;
  std::vector<Event> events_;
  std::size_t next_event_ = 0;
};

std::string to_string(const Machine::Fault& fault);

/// While it lives, shared words can be read without a step.
class Unobserved {
 public:
  Unobserved() : hook_(board::step_hook) { board::step_hook = nullptr; }
  ~Unobserved() { board::step_hook = hook_; }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  board::StepHook hook_;
};

}  // namespace syncopate::testing

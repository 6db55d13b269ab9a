#include "support/machine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace syncopate::testing {
namespace {

Machine* current_machine = nullptr;

}  // namespace

std::string to_string(const Machine::Fault& fault) {
  constexpr Time kMillisecond = 1'000'000;
  return "before " + std::string(fault.at ? to_string(*fault.at) : "step") + " " +
         std::to_string(fault.step) + " rank " + std::to_string(fault.rank) +
         (fault.kind == Machine::Fault::Kind::die
              ? " dies"
              : " stops for " + std::to_string(fault.duration / kMillisecond) + " ms");
}

Machine::Machine() = default;

Machine::~Machine() = default;

void Machine::reset() {
  observer_ = nullptr;
  most_steps_ = UINT64_MAX;
  tick_ = 0;
  early_every_ = 0;
  faults_.clear();
  events_.clear();
  next_event_ = 0;
  now_ = 0;
  steps_ = 0;
  sleeps_ = 0;
  stopped_ = dead_ = ended_ = 0;
  for (Seat& seat : seats_) seat.error = nullptr;
}

void Machine::at(Time time, std::function<void()> event) {
  const auto place = std::upper_bound(events_.begin(), events_.end(), time,
                                      [](Time t, const Event& e) { return t < e.time; });
  events_.insert(place, {.time = time, .event = std::move(event)});
  next_timer_ = std::min(next_timer_, time);
}

Machine::Outcome Machine::run(int ranks, Scheduler& scheduler,
                              const std::function<void(int)>& body) {
  ranks_ = ranks;
  scheduler_ = &scheduler;
  body_ = &body;
  outcome_ = Outcome::finished;
  all_ = awake_ = ranks == 64 ? ~Ranks{0} : bit(ranks) - 1;
  next_timer_ = events_.empty() ? board::kNever : events_.front().time;
  for (int rank = 0; rank < ranks; ++rank) {
    Seat& seat = seats_[rank];
    seat.word = nullptr;
    seat.until = seat.continue_at = board::kNever;
    seat.begun = false;
    seat.fiber.start(&Machine::enter, this);
  }
  current_machine = this;
  board::step_hook = &Machine::hook;
  pass_time(now_);
  running_ = kNobody;
  if (const int first = choose(kNobody, Step::read); first != kNobody) {
    running_ = first;
    Fiber::change(main_, seats_[first].fiber);
  }
  running_ = kNobody;
  unwind();
  board::step_hook = nullptr;
  current_machine = nullptr;
  return outcome_;
}

void Machine::unwind() {
  unwinding_ = true;
  for (int rank = 0; rank < ranks_; ++rank) {
    Seat& seat = seats_[rank];
    if (!seat.begun || ended(rank)) continue;
    running_ = rank;
    Fiber::change(main_, seat.fiber);
  }
  running_ = kNobody;
  unwinding_ = false;
}

void Machine::enter(void* self) {
  auto& machine = *static_cast<Machine*>(self);
  const int rank = machine.running_;
  Seat& seat = machine.seats_[rank];
  seat.begun = true;
  bool over = false;
  try {
    (*machine.body_)(rank);
  } catch (const Ending&) {
    over = true;
  } catch (...) {
    seat.error = std::current_exception();
  }
  if (!over) {
    machine.ended_ |= bit(rank);
    machine.awake_ &= ~bit(rank);
    const int next = machine.choose(kNobody, Step::read);
    if (next != kNobody) {
      machine.running_ = next;
      Fiber::change(seat.fiber, machine.seats_[next].fiber);
    }
  }
  Fiber::change(seat.fiber, machine.main_);
  std::abort();
}

void Machine::hook(Step at) {
  if (current_machine->running_ != kNobody) current_machine->step(at);
}

void Machine::step(Step at) {
  if (unwinding_) return;
  if (observer_ != nullptr) {
    const Unobserved unobserved;
    observer_->look(running_, at);
  }
  if (++steps_ > most_steps_) finish(Outcome::endless);
  if (!faults_.empty()) inject_faults(at);
  if (tick_ > 0) pass_time(now_ + tick_);
  go_on(at);
}

void Machine::inject_faults(Step at) {
  for (Fault& fault : faults_) {
    if (fault.kind == Fault::Kind::none) continue;
    if (fault.at.has_value()) {
      if (fault.at != at || fault.rank != running_ || --fault.step > 0) continue;
    } else if (fault.step > steps_) {
      continue;
    }
    if (!ended(fault.rank) && alive(fault.rank)) {
      if (fault.kind == Fault::Kind::die) kill(fault.rank);
      if (fault.kind == Fault::Kind::stop) stop(fault.rank, now_ + fault.duration);
    }
    fault.kind = Fault::Kind::none;
  }
}

/// Gives the others their turn, and returns when it is this rank's again.
void Machine::go_on(Step at) {
  const bool can = (awake_ & ~stopped_ & ~dead_ & bit(running_)) != 0;
  const int next = choose(can ? running_ : kNobody, at);
  if (next != running_) leave_for(next);
}

void Machine::leave_for(int rank) {
  const int self = running_;
  running_ = rank;
  Fiber::change(seats_[self].fiber, rank == kNobody ? main_ : seats_[rank].fiber);
  if (unwinding_) throw Ending();
}

/// The rank that runs next; kNobody ends the run.
int Machine::choose(int current, Step at) {
  for (;;) {
    const Ranks ready = awake_ & ~stopped_ & ~dead_;
    if (ready != 0) {
      // Where there is no choice the scheduler is not asked.
      if (std::has_single_bit(ready)) return std::countr_zero(ready);
      return scheduler_->choose(ready, current, at);
    }
    if ((all_ & ~ended_ & ~dead_) == 0) {
      outcome_ = Outcome::finished;
      return kNobody;
    }
    if (!advance_clock()) {
      outcome_ = Outcome::stuck;
      return kNobody;
    }
  }
}

bool Machine::advance_clock() {
  if (observer_ != nullptr) {
    const Unobserved unobserved;
    observer_->idle();
  }
  if (next_timer_ == board::kNever) return false;
  pass_time(std::max(now_, next_timer_));
  return true;
}

/// Moves the clock, and does what is due by then.
void Machine::pass_time(Time time) {
  now_ = time;
  if (now_ < next_timer_) return;
  while (next_event_ < events_.size() && events_[next_event_].time <= now_) {
    const Unobserved unobserved;
    events_[next_event_++].event();
  }
  next_timer_ = next_event_ < events_.size() ? events_[next_event_].time : board::kNever;
  for (int rank = 0; rank < ranks_; ++rank) {
    Seat& seat = seats_[rank];
    if (!alive(rank) || ended(rank)) continue;
    if (seat.continue_at <= now_) resume(rank);
    if (seat.until <= now_) {
      seat.until = board::kNever;
      seat.word = nullptr;
      awake_ |= bit(rank);
    }
    next_timer_ = std::min({next_timer_, seat.until, seat.continue_at});
  }
}

void Machine::finish(Outcome outcome) {
  outcome_ = outcome;
  leave_for(kNobody);
}

void Machine::sleep_until(Time time) {
  if (time > now_) park(running_, nullptr, time);
}

void Machine::park(int rank, const void* word, Time until) {
  if (unwinding_) throw Ending();
  if (until <= now_) return;
  if (word != nullptr && early_every_ > 0 && ++sleeps_ % early_every_ == 0) return;
  Seat& seat = seats_[rank];
  seat.word = word;
  seat.order = steps_;
  seat.until = until;
  next_timer_ = std::min(next_timer_, until);
  awake_ &= ~bit(rank);
  go_on(Step::park);
}

void Machine::wake(const void* word, int count) {
  while (count-- > 0) {
    int first = kNobody;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (seats_[rank].word != word) continue;
      if (first == kNobody || seats_[rank].order < seats_[first].order) first = rank;
    }
    if (first == kNobody) return;
    seats_[first].word = nullptr;
    seats_[first].until = board::kNever;
    awake_ |= bit(first);
  }
}

void Machine::kill(int rank) {
  if (ended(rank)) return;
  dead_ |= bit(rank);
  seats_[rank].word = nullptr;  // The kernel wakes no rank that is gone.
}

void Machine::stop(int rank, Time until) {
  if (ended(rank) || !alive(rank)) return;
  stopped_ |= bit(rank);
  seats_[rank].continue_at = until;
  next_timer_ = std::min(next_timer_, until);
}

void Machine::resume(int rank) {
  stopped_ &= ~bit(rank);
  seats_[rank].continue_at = board::kNever;
}

}  // namespace syncopate::testing

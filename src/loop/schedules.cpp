#include "loop/schedules.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "syncopate/error.h"

namespace syncopate::loop {
namespace {

/// More calls than any training makes, and few enough to be exact.
constexpr double kMostCalls = 0x1p52;

std::string name(std::size_t schedule, const char* what) {
  return "schedule " + std::to_string(schedule) + " " + what;
}

double take_number(StrategyState& state, const std::string& name, double most) {
  const double value = state.number(name);
  if (!(value >= 0 && value <= most)) {
    throw Error(ErrorCode::invalid_argument,
                "the entry '" + name + "' of the loop's state is out of its range",
                "Load what a loop has saved");
  }
  return value;
}

}  // namespace

std::size_t Schedules::add(TrainingLoop::Move move) {
  if (count_ == schedules_.size()) {
    throw Error(ErrorCode::invalid_argument,
                "a loop with more than " + std::to_string(schedules_.size()) + " schedules",
                "Put several rates under one schedule");
  }
  schedules_[count_].move = std::move(move);
  return count_++;
}

Schedules::Schedule& Schedules::at(std::size_t schedule) {
  if (schedule < count_) return schedules_[schedule];
  throw Error(ErrorCode::invalid_argument, "there is no schedule " + std::to_string(schedule),
              "Add it first: add_schedule() returns its number");
}

void Schedules::call(std::size_t schedule) {
  Schedule& called = at(schedule);
  ++called.own;
  ++called.unsaid;
}

void Schedules::call(std::size_t schedule, double value) {
  call(schedule);
  schedules_[schedule].measured = true;
  schedules_[schedule].unsaid_values += value;
}

void Schedules::write(std::span<float> notes) {
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    Schedule& schedule = schedules_[i];
    notes[2 * i] = float(std::exchange(schedule.unsaid, 0));
    notes[2 * i + 1] = float(std::exchange(schedule.unsaid_values, 0));
  }
}

void Schedules::read(std::span<const float> notes) {
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    Schedule& schedule = schedules_[i];
    if (i >= count_ && notes[2 * i] != 0) {
      throw Error(ErrorCode::mismatch,
                  "another rank has a schedule " + std::to_string(i) + " that this one has not",
                  "Add the same schedules in the same order on every rank");
    }
    schedule.calls += std::round(notes[2 * i]);
    schedule.values += notes[2 * i + 1];
    schedule.own = schedule.unsaid;
    move_to(schedule, std::uint64_t(schedule.calls / ranks_));
  }
}

void Schedules::step_alone() {
  for (std::size_t i = 0; i < count_; ++i) {
    Schedule& schedule = schedules_[i];
    if (schedule.measured) continue;
    move_to(schedule, std::uint64_t(schedule.calls / ranks_) + schedule.own);
  }
}

void Schedules::move_to(Schedule& schedule, std::uint64_t position) {
  if (position <= schedule.position) return;
  const double calls = schedule.calls - std::exchange(schedule.moved_calls, schedule.calls);
  const double value = calls > 0 ? schedule.values / calls : 0;
  schedule.values = 0;
  while (schedule.position < position) {
    ++schedule.position;
    schedule.move(value);
  }
}

void Schedules::save(StrategyState& state) const {
  const auto keep = [&](std::size_t i, const char* what, double value) {
    state.entries[name(i, what)] = {Sharing::same, value};
  };
  for (std::size_t i = 0; i < schedules_.size(); ++i) {
    // By rank, for other numbers of ranks may go on from here.
    keep(i, "calls", schedules_[i].calls / ranks_);
    keep(i, "position", double(schedules_[i].position));
  }
}

void Schedules::take(StrategyState& state) {
  std::array<Schedule, TrainingLoop::kSchedules> taken = schedules_;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const std::string calls = name(i, "calls"), position = name(i, "position");
    taken[i].calls = std::round(take_number(state, calls, kMostCalls) * ranks_);
    taken[i].moved_calls = taken[i].calls;
    taken[i].position = std::uint64_t(take_number(state, position, kMostCalls));
  }
  schedules_ = std::move(taken);
  std::erase_if(state.entries,
                [](const auto& entry) { return entry.first.starts_with("schedule "); });
}

}  // namespace syncopate::loop

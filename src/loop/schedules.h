// Where the schedules of a training loop stand: at the mean of the ranks' calls, as far as agreed
// exchanges have told of them. Each deposit says, in two notes per schedule, how many calls its
// rank has made since the one before, and the sum of what they were given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "syncopate/training_loop.h"

namespace syncopate::loop {

class Schedules {
 public:
  static constexpr std::size_t kNotes = 2 * TrainingLoop::kSchedules;

  explicit Schedules(int ranks) : ranks_(ranks) {}

  /// Throws Error(invalid_argument) if there are as many as there may be.
  std::size_t add(TrainingLoop::Move move);
  void call(std::size_t schedule);
  void call(std::size_t schedule, double value);

  /// Before a deposit: its notes.
  void write(std::span<float> notes);
  /// Of an agreed exchange, before its result is applied: moves the schedules.
  void read(std::span<const float> notes);
  /// Before a step of this rank alone, between two averages: its own calls move them as well, but
  /// for schedules that go by what ranks measure.
  void step_alone();

  /// For a checkpoint: adds entries, and takes them out again. take() throws
  /// Error(invalid_argument) for what is none, before it changes anything.
  void save(StrategyState& state) const;
  void take(StrategyState& state);

 private:
  struct Schedule {
    TrainingLoop::Move move;
    bool measured = false;
    std::uint64_t own = 0;     ///< Calls of this rank since the last agreed exchange,
    std::uint64_t unsaid = 0;  ///< and those of them that are in no deposit yet,
    double unsaid_values = 0;  ///< with what they were given.
    double calls = 0;          ///< Of all ranks, in agreed exchanges.
    double moved_calls = 0;    ///< Of these, before the last move;
    double values = 0;         ///< what those since then were given.
    std::uint64_t position = 0;
  };

  Schedule& at(std::size_t schedule);
  static void move_to(Schedule& schedule, std::uint64_t position);

  int ranks_;
  std::size_t count_ = 0;
  std::array<Schedule, TrainingLoop::kSchedules> schedules_;
};

}  // namespace syncopate::loop

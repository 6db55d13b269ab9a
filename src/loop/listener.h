// Stands between a strategy and the program's learner, and hears what the rounds tell: it moves the
// schedules before a result is applied, and knows how far the ranks have come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "loop/schedules.h"
#include "syncopate/strategy.h"

namespace syncopate::loop {

/// The notes of a loop: those of the schedules, then a vote to stop. The vote is in no checkpoint:
/// one that came too late for its round would end the run that goes on from there.
inline constexpr std::size_t kStopNote = Schedules::kNotes;
inline constexpr std::size_t kNotes = kStopNote + 1;

/// How far the ranks have come, as agreed exchanges tell.
struct Heard {
  std::uint64_t rounds = 0;
  bool stop = false;  ///< A rank has voted to stop.
};

class Listener final : public Learner {
 public:
  Listener(Learner& learner, Schedules& schedules, Heard& heard)
      : learner_(learner), schedules_(schedules), heard_(heard) {}

  std::size_t size() const override { return learner_.size(); }
  void read_weights(std::span<float> into) const override { learner_.read_weights(into); }
  void keep_weights_at(float* place) override { learner_.keep_weights_at(place); }
  void write_gradient_to(float* place) override { learner_.write_gradient_to(place); }
  void flush_weights() override { learner_.flush_weights(); }
  void flush_gradient() override { learner_.flush_gradient(); }
  void anticipate(double mass) override { learner_.anticipate(mass); }
  bool has_momentum() const override { return learner_.has_momentum(); }
  void settle() override { learner_.settle(); }

  void noted(std::span<const float> notes) override {
    schedules_.read(notes.first(Schedules::kNotes));
    if (notes[kStopNote] > 0) heard_.stop = true;
    noted_ = true;
    learner_.noted(notes);
  }
  void step(std::span<const float> gradient, double mass) override {
    if (!noted_) schedules_.step_alone();
    learner_.step(gradient, mass);
  }
  void exchanged(const Exchange& exchange) override {
    noted_ = false;
    if (exchange.agreed) heard_.rounds = exchange.number;
    learner_.exchanged(exchange);
  }

 private:
  Learner& learner_;
  Schedules& schedules_;
  Heard& heard_;
  bool noted_ = false;  ///< The step that comes is that of an agreed exchange.
};

}  // namespace syncopate::loop

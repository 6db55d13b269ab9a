#include "syncopate/training_loop.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loop/listener.h"
#include "loop/meetings.h"
#include "loop/pending.h"
#include "loop/schedules.h"
#include "syncopate/error.h"

namespace syncopate {
class TrainingLoop::Implementation {
 public:
  Implementation(const World& world, Learner& learner, std::string_view strategy,
                 const LoopOptions& options)
      : world_(world),
        learner_(learner),
        schedules_(world.size()),
        listener_(learner, schedules_, heard_),
        meetings_(world) {
    // make_strategy() throws for a wrong name on every rank alike.
    strategy_ = make_strategy(strategy, {.world = world,
                                         .learner = listener_,
                                         .start = Start::from_first,
                                         .notes = loop::kNotes,
                                         .unsaved_notes = loop::kNotes - loop::kStopNote,
                                         .samples = options.samples,
                                         .batch = options.batch,
                                         .seed = options.seed});
    state_ = strategy_->save();
    state_->make_stand_in();
    schedules_.save(*state_);
  }

  void begin_step() {
    check_open();
    state_.reset();
    strategy_->begin_step();
  }

  void end_step(Duration computing) {
    check_open();
    const std::span<float> notes = strategy_->notes();
    schedules_.write(notes.first(loop::Schedules::kNotes));
    notes[loop::kStopNote] = wants_to_stop_ ? 1.0F : 0.0F;
    if (wants_to_stop_) strategy_->hasten();
    strategy_->end_step(computing);
    hold_meeting_if_due(/*ended=*/false);
  }

  void finish();
  void every(std::uint64_t rounds, std::function<void()> meeting);

  void stop() { wants_to_stop_ = true; }
  bool stopped() const { return heard_.stop; }
  std::uint64_t rounds() const { return heard_.rounds; }

  /// To add one.
  loop::Schedules& open_schedules() {
    check_agreed("a schedule was added");
    return schedules_;
  }
  loop::Schedules& schedules() { return schedules_; }
  Strategy& strategy() { return *strategy_; }

  StrategyState save() const {
    if (state_) return *state_;
    throw Error(ErrorCode::invalid_argument, "a loop was saved in the middle of its rounds",
                "Save it in a meeting, which every() calls on all ranks after the same round");
  }

  void load(const StrategyState& state) {
    if (!state_ || finished_) {
      throw Error(ErrorCode::invalid_argument, "a loop was loaded that has begun",
                  "Load it before the first step");
    }
    StrategyState rest = state;
    loop::Schedules schedules = schedules_;
    schedules.take(rest);
    strategy_->load(loop::share_of(world_, rest));
    schedules_ = std::move(schedules);
    heard_.rounds = std::uint64_t(rest.number("rounds"));
    state_ = state;
  }

 private:
  struct Appointment {
    std::uint64_t rounds;
    std::function<void()> call;
    std::uint64_t met;  ///< The round after which it was held, or might have been.

    bool due(std::uint64_t round) const { return round / rounds > met / rounds; }
  };

  void check_open() const {
    if (!finished_) return;
    throw Error(ErrorCode::closed, "a loop was used after finish()", "Make a new one");
  }

  /// What ranks must do after the same round is for meetings, or comes before the first step.
  void check_agreed(const std::string& what) const {
    if (state_) return;
    throw Error(ErrorCode::invalid_argument, what + " in the middle of rounds",
                "Do it before the first step, or in a meeting, on all ranks");
  }

  std::vector<float> weights() const {
    std::vector<float> values(learner_.size());
    learner_.read_weights(values);
    return values;
  }

  /// Tells the others where this rank is, and throws if replicas differ.
  loop::Agreed meet_as_equals(bool ended);
  void hold_meeting_if_due(bool ended);
  void hold_meeting(const loop::Agreed& agreed);
  /// A rank that could not follow gets the weights that the others have.
  void show_weights(const loop::Agreed& agreed, bool behind);
  void gather_state(const RankSet& ranks);

  World world_;
  Learner& learner_;
  loop::Schedules schedules_;
  loop::Heard heard_;
  loop::Listener listener_;
  loop::Meetings meetings_;
  std::unique_ptr<Strategy> strategy_;
  std::vector<Appointment> every_;
  std::optional<StrategyState> state_;  ///< What save() returns, while it may.
  bool wants_to_stop_ = false;
  bool met_to_stop_ = false;
  bool finished_ = false;
};

void TrainingLoop::Implementation::every(std::uint64_t rounds, std::function<void()> meeting) {
  if (rounds == 0 || !meeting) {
    throw Error(ErrorCode::invalid_argument, "a meeting every 0 rounds, or without a function",
                "Give a number of rounds from 1, and what to call");
  }
  check_agreed("a meeting was arranged");
  every_.push_back({rounds, std::move(meeting), heard_.rounds});
}

void TrainingLoop::Implementation::finish() {
  check_open();
  strategy_->stop();
  while (strategy_->follow()) hold_meeting_if_due(/*ended=*/true);
  // The others may meet where this rank cannot follow: it takes part until all have ended.
  for (;;) {
    const loop::Agreed agreed = meetings_.meet({.ended = true});
    if (agreed.all_ended) break;
    show_weights(agreed, /*behind=*/true);
    hold_meeting(agreed);
  }
  strategy_->finish();
  learner_.settle();
  finished_ = true;
  gather_state(meet_as_equals(/*ended=*/true).ranks);
}

loop::Agreed TrainingLoop::Implementation::meet_as_equals(bool ended) {
  const loop::Agreed agreed = meetings_.meet(
      {.round = heard_.rounds, .ended = ended, .replica = loop::checksum(weights())});
  if (agreed.replicas_equal) return agreed;
  throw Error(ErrorCode::mismatch,
              "the replicas are not equal after round " + std::to_string(agreed.round),
              "Change weights and rates only by the loop, or in a meeting on all ranks alike");
}

void TrainingLoop::Implementation::hold_meeting_if_due(bool ended) {
  const auto due = [this](const Appointment& meeting) { return meeting.due(heard_.rounds); };
  // Where they stop, they meet: so no rank sees a round more than another before it knows.
  const bool stops = heard_.stop && !std::exchange(met_to_stop_, heard_.stop);
  if (!stops && std::ranges::none_of(every_, due)) return;
  learner_.settle();
  const loop::Agreed agreed = meet_as_equals(ended);
  show_weights(agreed, /*behind=*/false);
  hold_meeting(agreed);
}

void TrainingLoop::Implementation::hold_meeting(const loop::Agreed& agreed) {
  heard_.rounds = agreed.round;  // Of which a rank that could not follow has not heard.
  gather_state(agreed.ranks);
  // A meeting may arrange others.
  for (std::size_t i = 0; i < every_.size(); ++i) {
    if (!every_[i].due(agreed.round)) continue;
    every_[i].met = agreed.round;
    const std::function<void()> call = every_[i].call;
    call();
  }
  state_.reset();
  if (meetings_.meet({.stop = wants_to_stop_}).stop) heard_.stop = met_to_stop_ = true;
}

void TrainingLoop::Implementation::show_weights(const loop::Agreed& agreed, bool behind) {
  if (!agreed.some_behind) return;
  std::vector<float> values = weights();
  world_.broadcast(std::span(values), agreed.leader);
  if (!behind) return;
  learner_.keep_weights_at(values.data());
  learner_.keep_weights_at(nullptr);
}

void TrainingLoop::Implementation::gather_state(const RankSet& ranks) {
  StrategyState state = loop::gather_pending(world_, ranks, strategy_->save());
  schedules_.save(state);
  state_ = std::move(state);
}

TrainingLoop::TrainingLoop(const World& world, Learner& learner, std::string_view strategy,
                           const LoopOptions& options)
    : implementation_(std::make_unique<Implementation>(world, learner, strategy, options)) {}
TrainingLoop::~TrainingLoop() = default;

void TrainingLoop::begin_step() { implementation_->begin_step(); }
void TrainingLoop::end_step(Duration computing) { implementation_->end_step(computing); }
Strategy& TrainingLoop::strategy() { return implementation_->strategy(); }
std::size_t TrainingLoop::add_schedule(Move move) {
  return implementation_->open_schedules().add(std::move(move));
}
void TrainingLoop::advance(std::size_t schedule) { implementation_->schedules().call(schedule); }
void TrainingLoop::advance(std::size_t schedule, double value) {
  implementation_->schedules().call(schedule, value);
}
void TrainingLoop::every(std::uint64_t rounds, std::function<void()> meeting) {
  implementation_->every(rounds, std::move(meeting));
}
void TrainingLoop::stop() { implementation_->stop(); }
bool TrainingLoop::stopped() const { return implementation_->stopped(); }
std::uint64_t TrainingLoop::rounds() const { return implementation_->rounds(); }
void TrainingLoop::finish() { implementation_->finish(); }
StrategyState TrainingLoop::save() const { return implementation_->save(); }
void TrainingLoop::load(const StrategyState& state) { implementation_->load(state); }

}  // namespace syncopate

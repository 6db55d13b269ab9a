#include <algorithm>
#include <optional>
#include <vector>

#include "strategy/gradients.h"
#include "strategy/local.h"

namespace syncopate::strategy {
namespace {

/// Synchronous until step T, then local: one strategy after the other.
class PostLocal final : public Strategy {
 public:
  PostLocal(const Training& training, int until, int every)
      : training_(training),
        until_(until),
        every_(every),
        stage_(&synchronous_.emplace(training, GradientOptions{})) {
    notes_.resize(training.notes);
  }

  void begin_step() override { stage_->begin_step(); }

  void end_step(Duration computing) override {
    std::copy(notes_.begin(), notes_.end(), stage_->notes().begin());
    stage_->end_step(computing);
    if (synchronous_ && ++steps_ == until_) go_local();
  }

  void hasten() override { stage_->hasten(); }
  void stop() override {
    stopped_ = true;
    stage_->stop();
  }

  bool follow() override {
    if (stage_->follow()) return true;
    // Where the first stage ended at step T, the others have gone on to the second.
    if (!synchronous_ || synchronous_->rounds() < until_) return false;
    go_local();
    return true;
  }

  void finish() override {
    stop();
    while (follow()) continue;
    stage_->finish();
  }

  void describe(StateFields& state) override {
    const bool local = state.count("steps", Sharing::same, steps_, until_) == until_;
    if (state.loading() && local && synchronous_) go_local();
    if (local && synchronous_) {
      // What a local stage has is looked at before there is one.
      std::vector<float> notes(training_.notes - training_.unsaved_notes);
      Averaging::Kept{.notes = notes}.describe(state);
    } else {
      stage_->describe(state);
    }
  }

 private:
  void go_local() {
    synchronous_->finish();
    stage_ = &local_.emplace(training_, every_, synchronous_->rounds());
    synchronous_.reset();
    if (stopped_) stage_->stop();
  }

  Training training_;
  std::uint64_t until_;
  int every_;
  std::uint64_t steps_ = 0;
  std::optional<Gradients> synchronous_;  ///< The first stage, while it lasts.
  std::optional<Local> local_;
  Strategy* stage_;  ///< The one of them that there is.
  bool stopped_ = false;
};

}  // namespace

const Entry& post_local() {
  static const Entry entry{
      {.name = "post-local",
       .summary = "synchronous until step T, then local steps with an average every H",
       .paper = "post-local SGD, arXiv 1808.07217",
       .parameters = {{.name = "T",
                       .standard = "",
                       .meaning = "steps before the first local one",
                       .by_place = true},
                      {.name = "H",
                       .standard = "10",
                       .meaning = "steps between two averages",
                       .by_place = true}}},
      [](const Values& values, int) -> Maker {
        const int until = values.whole("T", 1, kMostSteps);
        const int every = values.whole("H", 1, kMostSteps);
        return [until, every](const Training& training) {
          return std::make_unique<PostLocal>(training, until, every);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy

#include <algorithm>

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
        stage_(std::make_unique<Gradients>(training, GradientOptions{})) {
    notes_.resize(training.notes);
  }

  void begin_step() override { stage_->begin_step(); }

  void end_step(Duration computing) override {
    std::copy(notes_.begin(), notes_.end(), stage_->notes().begin());
    stage_->end_step(computing);
    if (!local_ && ++steps_ == until_) go_local();
  }

  void hasten() override { stage_->hasten(); }
  void finish() override { stage_->finish(); }

  StrategyState save() const override {
    StrategyState state = stage_->save();
    state.numbers["steps"] = double(steps_);
    return state;
  }

  void load(const StrategyState& state) override {
    steps_ = std::uint64_t(state.numbers.at("steps"));
    if (steps_ >= until_) go_local();
    stage_->load(state);
  }

 private:
  void go_local() {
    const StrategyState state = stage_->save();
    stage_->finish();
    stage_ = std::make_unique<Local>(training_, every_);
    stage_->load(state);
    local_ = true;
  }

  Training training_;
  std::uint64_t until_;
  int every_;
  std::uint64_t steps_ = 0;
  bool local_ = false;
  std::unique_ptr<Strategy> stage_;
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

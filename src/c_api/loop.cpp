#include <algorithm>
#include <string>
#include <vector>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "c_api/state.h"
#include "syncopate/training_loop.h"

namespace syncopate::c_api {

/// A learner whose functions are the caller's.
class CalledLearner final : public Learner {
 public:
  explicit CalledLearner(const syncopate_learner& calls) : calls_(calls) {
    expect(reinterpret_cast<const void*>(calls.read_weights), "read_weights");
    expect(reinterpret_cast<const void*>(calls.keep_weights_at), "keep_weights_at");
    expect(reinterpret_cast<const void*>(calls.write_gradient_to), "write_gradient_to");
    expect(reinterpret_cast<const void*>(calls.step), "step");
  }

  std::size_t size() const override { return calls_.size; }
  bool has_momentum() const override { return calls_.has_momentum != 0; }
  void read_weights(std::span<float> into) const override {
    call(calls_.read_weights, into.data());
  }
  void keep_weights_at(float* place) override { call(calls_.keep_weights_at, place); }
  void write_gradient_to(float* place) override { call(calls_.write_gradient_to, place); }
  void flush_weights() override { call(calls_.flush_weights); }
  void flush_gradient() override { call(calls_.flush_gradient); }
  void step(std::span<const float> gradient, double mass) override {
    call(calls_.step, gradient.data(), mass);
  }
  void anticipate(double mass) override { call(calls_.anticipate, mass); }
  void settle() override { call(calls_.settle); }
  void exchanged(const Exchange& exchange) override {
    const syncopate_exchange told{.number = exchange.number,
                                  .staleness = exchange.staleness,
                                  .dropped = exchange.dropped,
                                  .mass = exchange.mass,
                                  .waited = seconds(exchange.waited),
                                  .waited_for = exchange.waited_for,
                                  .contributors = exchange.contributors,
                                  .agreed = exchange.agreed,
                                  .included = exchange.included};
    call(calls_.exchanged, &told);
  }

 private:
  /// One that there need not be does nothing.
  template <typename Function, typename... Arguments>
  void call(Function* function, Arguments... arguments) const {
    if (function != nullptr) expect_success(function(calls_.self, arguments...));
  }

  syncopate_learner calls_;
};

}  // namespace syncopate::c_api

using namespace syncopate;
using namespace syncopate::c_api;

struct syncopate_loop {
  syncopate_loop(const World& world, const syncopate_learner& calls, const char* strategy,
                 const LoopOptions& options)
      : learner(calls), loop(world, learner, strategy, options) {}

  CalledLearner learner;
  TrainingLoop loop;
};

namespace {

template <typename Handle, typename Body>
syncopate_status with(Handle* handle, const Body& body) {
  return guarded([&] {
    expect(handle, "loop");
    body(handle->loop);
  });
}

}  // namespace

syncopate_status syncopate_loop_new(syncopate_world* world, const syncopate_learner* learner,
                                    const char* strategy, const syncopate_loop_options* options,
                                    syncopate_loop** loop) {
  return guarded([&] {
    expect(world, "world");
    expect(learner, "learner");
    expect(strategy, "strategy");
    expect(loop, "loop");
    LoopOptions made;
    if (options != nullptr) made = {options->seed, options->samples, options->batch};
    *loop = new syncopate_loop(world->world, *learner, strategy, made);
  });
}

void syncopate_loop_free(syncopate_loop* loop) { delete loop; }

syncopate_status syncopate_loop_begin_step(syncopate_loop* loop) {
  return with(loop, [](TrainingLoop& it) { it.begin_step(); });
}
syncopate_status syncopate_loop_end_step(syncopate_loop* loop, double computing) {
  return with(loop, [&](TrainingLoop& it) { it.end_step(from_seconds(computing)); });
}
syncopate_status syncopate_loop_finish(syncopate_loop* loop) {
  return with(loop, [](TrainingLoop& it) { it.finish(); });
}
syncopate_status syncopate_loop_stop(syncopate_loop* loop) {
  return with(loop, [](TrainingLoop& it) { it.stop(); });
}
int syncopate_loop_stopped(const syncopate_loop* loop) { return loop->loop.stopped(); }
std::uint64_t syncopate_loop_rounds(const syncopate_loop* loop) { return loop->loop.rounds(); }

syncopate_status syncopate_loop_every(syncopate_loop* loop, std::uint64_t rounds,
                                      int (*meeting)(void* self), void* self) {
  return with(loop, [&](TrainingLoop& it) {
    expect(reinterpret_cast<const void*>(meeting), "meeting");
    it.every(rounds, [=] { expect_success(meeting(self)); });
  });
}

syncopate_status syncopate_loop_add_schedule(syncopate_loop* loop,
                                             int (*move)(void* self, double value), void* self,
                                             std::size_t* schedule) {
  return with(loop, [&](TrainingLoop& it) {
    expect(reinterpret_cast<const void*>(move), "move");
    expect(schedule, "schedule");
    *schedule = it.add_schedule([=](double value) { expect_success(move(self, value)); });
  });
}

syncopate_status syncopate_loop_advance(syncopate_loop* loop, std::size_t schedule,
                                        const double* value) {
  return with(loop, [&](TrainingLoop& it) {
    value == nullptr ? it.advance(schedule) : it.advance(schedule, *value);
  });
}

int syncopate_loop_parts(const syncopate_loop* loop) {
  return const_cast<syncopate_loop*>(loop)->loop.strategy().parts();
}

syncopate_status syncopate_loop_enough(syncopate_loop* loop, double computing, int* enough) {
  return with(loop, [&](TrainingLoop& it) {
    expect(enough, "enough");
    *enough = it.strategy().enough(from_seconds(computing));
  });
}

syncopate_status syncopate_loop_choose(syncopate_loop* loop, std::int64_t* samples,
                                       std::size_t* count) {
  return with(loop, [&](TrainingLoop& it) {
    expect(samples, "samples");
    expect(count, "count");
    const std::vector<std::int64_t> chosen = it.strategy().choose(*count);
    std::ranges::copy(chosen, samples);
    *count = chosen.size();
  });
}

syncopate_status syncopate_loop_note_losses(syncopate_loop* loop, const std::int64_t* samples,
                                            const float* losses, std::size_t count) {
  return with(loop, [&](TrainingLoop& it) {
    if (count > 0) expect(samples, "samples"), expect(losses, "losses");
    it.strategy().note_losses({samples, count}, {losses, count});
  });
}

syncopate_status syncopate_loop_save(const syncopate_loop* loop, syncopate_state** state) {
  return with(loop, [&](const TrainingLoop& it) {
    expect(state, "state");
    *state = new syncopate_state(it.save());
  });
}

syncopate_status syncopate_loop_load(syncopate_loop* loop, const syncopate_state* state) {
  return with(loop, [&](TrainingLoop& it) {
    expect(state, "state");
    it.load(state->state);
  });
}

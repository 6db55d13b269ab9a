#include "partial/stage.h"

#include "base/check.h"

namespace syncopate::partial {

using board::step;
using board::Step;

int Stage::free_buffer(int avoid) const {
  const bool suspicious = memory_.control->abandoned.load() != 0;
  for (int buffer = 0; buffer < shape_.stages(); ++buffer) {
    if (buffer != avoid && !(suspicious && results_.buffers().in_use(buffer))) return buffer;
  }
  return kNoBuffer;
}

void Stage::open(RoundNumber round, double divisor) {
  step(Step::start);
  memory_.control->stage_divisor.store(divisor);
  std::uint64_t value = attempts_.word().load();
  const AttemptWord next{.round = round, .buffer = free_buffer(kNoBuffer)};
  SYNCOPATE_CHECK(next.buffer != kNoBuffer, "stage.h 1: a stage is free");
  do {
    SYNCOPATE_CHECK(AttemptWord::unpack(value).round < round,
                    "stage.h 1: the agent opens one after the other");
    // A rank that has been slow may only now give up on the round before.
  } while (!attempts_.word().replace(value, next.pack()));
}

void Stage::retry(AttemptWord given_up) {
  step(Step::retry);
  attempts_.give_up();
  attempts_.start_over(given_up, free_buffer(given_up.buffer));
}

board::ReductionInput Stage::input(AttemptWord attempt) const {
  const double divisor = memory_.control->stage_divisor.load();
  board::ReductionInput input = attempts_.input(attempt, contributions_, 1 / divisor);
  input.front_first = true;
  return input;
}

Stage::Outcome Stage::help() {
  const AttemptWord now = attempt();
  if (now.round <= results_.published()) return Outcome::over;
  if (!contributions_.collect(now.round, now.last)) return Outcome::over;
  return results_.buffers().help(input(now));
}

Stage::Outcome Stage::help(AttemptWord attempt, int begin, int end) {
  if (!contributions_.collect(attempt.round, attempt.last)) return Outcome::over;
  return results_.buffers().help(input(attempt), begin, end);
}

}  // namespace syncopate::partial

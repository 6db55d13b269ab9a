#include "partial/running_round.h"

#include "base/check.h"
#include "board/prefetch.h"

namespace syncopate::partial {
namespace {

using board::step;
using board::Step;

/// From here on it pays to look up exactly which result was freed last, to reuse its memory.
constexpr std::size_t kWorthReusing = 16 << 10;

}  // namespace

RunningRound::RunningRound(const Memory& memory, const Shape& shape, Window& window,
                           Results& results, Contributions& contributions,
                           board::Platform& platform)
    : memory_(memory),
      shape_(shape),
      window_(window),
      results_(results),
      contributions_(contributions),
      platform_(platform) {}

bool RunningRound::start(RoundNumber round, bool last) {
  step(Step::start);
  std::uint64_t value = memory_.control->attempt.load();
  const auto before = AttemptWord::unpack(value);
  // Nothing comes after the last round, whichever rank still believes that another waits.
  if (before.last || before.round != round - 1 || results_.published() != round - 1) return false;
  contributions_.prefetch();
  if (shape_.vector_bytes() >= kWorthReusing) window_.look_at_all();
  int buffer = results_.free_buffer(round - 1, kNoBuffer);
  if (buffer == kNoBuffer) {
    window_.look_at_all();
    buffer = results_.free_buffer(round - 1, kNoBuffer);
  }
  if (buffer == kNoBuffer) return false;
  results_.buffers().prefetch(buffer);
  board::prefetch_to_write(&memory_.ring[round % shape_.ring()]);
  const AttemptWord next{.round = round, .last = last, .buffer = buffer};
  if (!memory_.control->attempt.replace(value, next.pack())) return false;
  SYNCOPATE_CHECK(board::unstepped([&] { return window_.holds(round); }),
                  "running_round.h 2: no round starts beyond the window");
  // Others may have published the round by now: those before it count.
  SYNCOPATE_CHECK(board::unstepped([&] { return results_.holds_nothing(buffer, round - 1); }),
                  "running_round.h 3: a buffer that a rank may read is not reused");
  return true;
}

void RunningRound::retry(AttemptWord given_up) {
  step(Step::retry);
  memory_.control->abandoned.store(1);
  window_.look_at_all();
  const int buffer = stage_divisor() > 0
                         ? results_.free_stage(given_up.buffer)
                         : results_.free_buffer(given_up.round - 1, given_up.buffer);
  if (buffer == kNoBuffer) return;
  SYNCOPATE_CHECK(buffer != given_up.buffer, "running_round.h 3: an attempt has its own buffer");
  std::uint64_t value = given_up.pack();
  const AttemptWord next{.round = given_up.round, .last = given_up.last, .buffer = buffer};
  if (memory_.control->attempt.replace(value, next.pack())) memory_.news->event.signal(platform_);
}

board::ReductionInput RunningRound::job(AttemptWord attempt) const {
  const double of_stage = stage_divisor();
  return {.tag = attempt.round,
          .buffer = attempt.buffer,
          .attempt = &memory_.control->attempt,
          .attempt_value = attempt.pack(),
          .terms = contributions_.terms(),
          .scale = of_stage > 0 ? 1 / of_stage : contributions_.scale(),
          .header = &contributions_.header(),
          .contributors = contributions_.contributors(),
          .reporters = contributions_.reporters(),
          .front_first = of_stage > 0};
}

RunningRound::Outcome RunningRound::help() {
  const AttemptWord now = attempt();
  if (now.round <= results_.published()) return Outcome::over;
  if (results_.entered(now.round)) {
    results_.advance(now.round);
    return Outcome::complete;
  }
  const bool decided = contributions_.decide(now.round);
  if (now.buffer == kOwnResults) {
    results_.publish(now);  // Even if the ranks have settled further rounds since.
    return Outcome::complete;
  }
  if (!decided || !contributions_.collect(now.round, now.last)) return Outcome::over;
  const Outcome outcome = results_.buffers().help(job(now));
  if (outcome == Outcome::complete && stage_divisor() == 0) results_.publish(now);
  return outcome;
}

RunningRound::Outcome RunningRound::help(AttemptWord attempt, int begin, int end) {
  if (!contributions_.collect(attempt.round, attempt.last)) return Outcome::over;
  return results_.buffers().help(job(attempt), begin, end);
}

void RunningRound::catch_up_to(RoundNumber round) {
  if (results_.published() >= round) return;
  std::uint64_t value = memory_.control->attempt.load();
  const auto before = AttemptWord::unpack(value);
  // A round that is under way comes first, or is the one.
  if (before.round < round && before.round == results_.published()) {
    const AttemptWord caught_up{.round = round, .buffer = kOwnResults};
    memory_.control->attempt.replace(value, caught_up.pack());
  }
  help();
}

}  // namespace syncopate::partial

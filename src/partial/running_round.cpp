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

RunningRound::RunningRound(const Memory& memory, const Shape& shape, Attempts& attempts,
                           Window& window, Results& results, Contributions& contributions)
    : memory_(memory),
      shape_(shape),
      attempts_(attempts),
      window_(window),
      results_(results),
      contributions_(contributions) {}

bool RunningRound::start(RoundNumber round, bool last) {
  step(Step::start);
  std::uint64_t value = attempts_.word().load();
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
  if (!attempts_.word().replace(value, next.pack())) return false;
  SYNCOPATE_CHECK(board::unstepped([&] { return window_.holds(round); }),
                  "running_round.h 2: no round starts beyond the window");
  // Others may have published the round by now: those before it count.
  SYNCOPATE_CHECK(board::unstepped([&] { return results_.holds_nothing(buffer, round - 1); }),
                  "running_round.h 3: a buffer that a rank may read is not reused");
  return true;
}

void RunningRound::retry(AttemptWord given_up) {
  step(Step::retry);
  attempts_.give_up();
  window_.look_at_all();
  attempts_.start_over(given_up, results_.free_buffer(given_up.round - 1, given_up.buffer));
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
  const Outcome outcome =
      results_.buffers().help(attempts_.input(now, contributions_, contributions_.scale()));
  if (outcome == Outcome::complete) results_.publish(now);
  return outcome;
}

void RunningRound::catch_up_to(RoundNumber round) {
  if (results_.published() >= round) return;
  std::uint64_t value = attempts_.word().load();
  const auto before = AttemptWord::unpack(value);
  // A round that is under way comes first, or is the one.
  if (before.round < round && before.round == results_.published()) {
    const AttemptWord caught_up{.round = round, .buffer = kOwnResults};
    attempts_.word().replace(value, caught_up.pack());
  }
  help();
}

}  // namespace syncopate::partial

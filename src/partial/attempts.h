// Attempts at the sum that is made now, of a round (running_round.h) or of a machine's part of one
// (stage.h): the word that names the newest, and what its helpers need to know.
//
// Invariants
// 1. A further attempt at the same round gets another buffer. The buffer of the one given up is not
//    used again while a helper may still write into it (Reduction::in_use).
//      check: start_over                                  test: stopped-helper-second-attempt
#pragma once

#include "base/check.h"
#include "board/reduction.h"
#include "partial/contributions.h"
#include "partial/memory.h"

namespace syncopate::partial {

class Attempts {
 public:
  Attempts(const Memory& memory, board::Platform& platform)
      : memory_(memory), platform_(platform) {}

  AttemptWord current() const { return AttemptWord::unpack(word().load()); }
  Shared<std::uint64_t>& word() const { return memory_.control->attempt; }

  /// From now on buffers may be in use that no word names.
  void give_up() { memory_.control->abandoned.store(1); }
  /// Another attempt in place of the one given up, if there is a buffer, and it is still the
  /// newest.
  void start_over(AttemptWord given_up, int buffer) {
    if (buffer == kNoBuffer) return;
    SYNCOPATE_CHECK(buffer != given_up.buffer, "attempts.h 1: an attempt has its own buffer");
    std::uint64_t value = given_up.pack();
    const AttemptWord next{.round = given_up.round, .last = given_up.last, .buffer = buffer};
    if (word().replace(value, next.pack())) memory_.news->event.signal(platform_);
  }

  /// What the helpers of `attempt` turn into a sum, which is multiplied by `scale`.
  board::ReductionInput input(AttemptWord attempt, const Contributions& taken, double scale) const {
    return {.tag = attempt.round,
            .buffer = attempt.buffer,
            .attempt = &word(),
            .attempt_value = attempt.pack(),
            .terms = taken.terms(),
            .scale = scale,
            .header = &taken.header(),
            .contributors = taken.contributors(),
            .reporters = taken.reporters()};
  }

 private:
  const Memory& memory_;
  board::Platform& platform_;
};

}  // namespace syncopate::partial

// What a rank on a scripted Machine takes for its kernel: the machine's clock, sleep and word on
// who lives.
#pragma once

#include <string>

#include "board/platform.h"
#include "support/machine.h"

namespace syncopate::testing {

class ScriptedPlatform final : public board::Platform {
 public:
  ScriptedPlatform(Machine& machine, int rank) : machine_(machine), rank_(rank) {}

  Time now() override { return machine_.now(); }

  void park(board::Shared<std::uint32_t>& word, std::uint32_t expected, Time until) override {
    board::step(Step::park);
    // Like a futex: looks at the word and falls asleep in one.
    if (word.load_relaxed() == expected) machine_.park(rank_, &word, until);
  }

  void wake(board::Shared<std::uint32_t>& word, int count) override { machine_.wake(&word, count); }

  bool alive(int rank, const board::ProcessId& /*process*/) override {
    return machine_.alive(rank);
  }

  std::string describe(const board::ProcessId& process) override {
    const int rank = static_cast<int>(process.pid) - 1;
    return machine_.stopped(rank) ? "stopped" : "running";
  }

  /// Looking before sleeping would be steps without news.
  board::Eagerness eagerness(bool /*oversubscribed*/) const override { return {}; }
  Time yield(Time now) override { return now; }
  bool crowded(Time /*now*/) const override { return false; }

  /// The same two wherever a schedule is played. With more ranks than that, a round wakes only
  /// some of those who sleep to help with it.
  board::Cores cores() const override { return {.mask = {0b11}}; }

 private:
  Machine& machine_;
  int rank_;
};

}  // namespace syncopate::testing

// A platform on which ranks live as the test says, with the real clock and real sleep.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "board/platform.h"

namespace syncopate::testing {

class FatePlatform : public board::Platform {
 public:
  board::Time now() override { return real_->now(); }
  void park(board::Shared<std::uint32_t>& word, std::uint32_t expected,
            board::Time until) override {
    real_->park(word, expected, until);
  }
  void wake(board::Shared<std::uint32_t>& word, int count) override { real_->wake(word, count); }
  bool alive(int rank, const board::ProcessId& /*process*/) override {
    return !dead.contains(rank);
  }
  std::string describe(const board::ProcessId& process) override {
    return "pid " + std::to_string(process.pid);
  }
  board::Eagerness eagerness(bool oversubscribed) const override {
    return real_->eagerness(oversubscribed);
  }
  board::Time yield(board::Time now) override { return real_->yield(now); }
  bool crowded(board::Time now) const override { return real_->crowded(now); }
  board::Cores cores() const override { return cores_here; }

  std::set<int> dead;
  board::Cores cores_here{.mask = {0b1111}};

 private:
  std::unique_ptr<board::Platform> real_ = board::make_thread_platform();
};

}  // namespace syncopate::testing

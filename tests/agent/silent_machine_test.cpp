// How long a machine may be silent: nothing is expected of it before a rank waits.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Time;

/// A clock that the test puts forward.
class EarlyPlatform final : public board::Platform {
 public:
  explicit EarlyPlatform(const std::atomic<Time>& ahead) : ahead_(ahead) {}

  Time now() override { return real_->now() + ahead_; }
  void park(board::Shared<std::uint32_t>& word, std::uint32_t expected, Time until) override {
    real_->park(word, expected, until - ahead_);
  }
  void wake(board::Shared<std::uint32_t>& word, int count) override { real_->wake(word, count); }
  bool alive(int rank, const board::ProcessId& process) override {
    return real_->alive(rank, process);
  }
  std::string describe(const board::ProcessId& process) override {
    return real_->describe(process);
  }
  board::Eagerness eagerness(bool oversubscribed) const override {
    return real_->eagerness(oversubscribed);
  }
  Time yield(Time now) override { return real_->yield(now - ahead_) + ahead_; }
  bool crowded(Time now) const override { return real_->crowded(now - ahead_); }
  board::Cores cores() const override { return real_->cores(); }

 private:
  const std::atomic<Time>& ahead_;
  std::unique_ptr<board::Platform> real_ = board::make_thread_platform();
};

/// What a machine's agent has done, and whether it hears anything.
struct Hearing {
  std::atomic<bool> deaf = false;
  std::atomic<int> sent = 0;
  std::atomic<int> turns = 0;  ///< It looks until there is no message left in each of them.
};

class HardOfHearing final : public fabric::Fabric {
 public:
  HardOfHearing(std::unique_ptr<Fabric> fabric, Hearing& hearing)
      : fabric_(std::move(fabric)), hearing_(hearing) {}

  void send(int machine, std::span<const std::byte> message) override {
    ++hearing_.sent;
    fabric_->send(machine, message);
  }
  int receive(std::vector<std::byte>& message) override {
    const int from = hearing_.deaf ? -1 : fabric_->receive(message);
    if (from < 0) ++hearing_.turns;
    return from;
  }
  std::unique_ptr<fabric::Operation> open(std::unique_ptr<fabric::Channel>& into) override {
    return fabric_->open(into);
  }

 private:
  std::unique_ptr<Fabric> fabric_;
  Hearing& hearing_;
};

TEST(ASilentMachine, IsGivenTimeFromWhenItIsFirstWaitedFor) {
  std::atomic<Time> ahead = 0;
  Hearing hearing;
  auto fabrics = memory_fabrics(2);
  fabrics[0] = std::make_unique<HardOfHearing>(std::move(fabrics[0]), hearing);
  auto worlds = machines_of_threads({1, 1}, false, std::move(fabrics),
                                    [&] { return std::make_unique<EarlyPlatform>(ahead); });
  std::atomic<int> silences = 0;      ///< That have begun.
  std::atomic<int> outlived = 0;      ///< By the rank that waits, …
  std::atomic<bool> gave_up = false;  ///< … or not.
  const auto await_turns = [&] {
    const int turns = hearing.turns;
    while (hearing.turns < turns + 3 && !gave_up) std::this_thread::yield();
  };
  on_threads(std::move(worlds), [&](World& world) {
    world.set_timeout(60s);
    PartialAllreduce<float> rounds(world, 1, {.trigger = all()});
    const std::vector<float> one{1.0F};
    for (int silence = 0; silence < 3; ++silence) {
      if (world.rank() == 0) {
        while (silences < silence) std::this_thread::yield();
        try {
          rounds.exchange(one).pass();
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
          gave_up = true;
          return;
        }
        ++outlived;
        continue;
      }
      if (silence > 0) {
        while (outlived < silence) std::this_thread::yield();
        await_turns();  // Until the agent knows that its rank no longer waits.
        hearing.deaf = true;
        ahead += Time{1} << 42;  // More than an hour.
        ++silences;
        // So many messages that some of them are to see whether this machine answers.
        for (const int sent = hearing.sent; hearing.sent < sent + 5 && !gave_up;) {
          ahead += Duration(200ms).count();
          await_turns();
        }
        hearing.deaf = false;
      }
      if (gave_up) return;
      rounds.exchange(one).pass();
    }
  });
}

}  // namespace
}  // namespace syncopate::testing

// Machines whose agents have no threads: the test takes their turns, ranks are fibers, and the
// clock is the test's. What the agents' work is stands apart from what drives it, so the rounds are
// those of real machines, and the same in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/driver.h"
#include "support/fibers.h"
#include "support/memory_fabric.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::testing {
namespace {

using agent::Agent;
using agent::AgentParts;
using board::Time;

class HandDriver;

/// Runs ranks as fibers, and takes turns of the agents between them.
class Hand {
 public:
  static constexpr Time kTick = 10'000;

  Time now() const { return now_; }
  void add(HandDriver& driver) { drivers_.push_back(&driver); }
  void remove(HandDriver& driver) { std::erase(drivers_, &driver); }
  void park(const void* word, Time until) {
    running_->word = word;
    running_->until = until;
    Fiber::change(running_->fiber, main_);
  }
  void wake(const void* word, int count) {
    for (const auto& rank : ranks_) {
      if (rank->word == word && count-- > 0) rank->word = nullptr;
    }
  }
  /// Returns after the next turns of the agents.
  void pause() { Fiber::change(running_->fiber, main_); }

  /// Calls `body` for each of the worlds, until all have ended; rethrows the first error.
  void run(std::vector<World> worlds, const std::function<void(World&)>& body);

 private:
  struct Rank {
    Hand* hand = nullptr;
    std::unique_ptr<World> world;
    const std::function<void(World&)>* body = nullptr;
    Fiber fiber;
    const void* word = nullptr;  ///< What it sleeps on.
    Time until = board::kNever;
    bool ended = false;
    std::exception_ptr error;
  };
  static void enter(void* argument);
  void turn_agents();

  Fiber main_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  Rank* running_ = nullptr;
  std::vector<HandDriver*> drivers_;
  Time now_ = 1'000'000'000'000;
};

class HandPlatform final : public board::Platform {
 public:
  explicit HandPlatform(Hand& hand) : hand_(hand) {}

  Time now() override { return hand_.now(); }
  void park(board::Shared<std::uint32_t>& word, std::uint32_t expected, Time until) override {
    if (word.load_relaxed() == expected) hand_.park(&word, until);
  }
  void wake(board::Shared<std::uint32_t>& word, int count) override { hand_.wake(&word, count); }
  Time look_after_every() const override { return board::kNever; }
  bool alive(int /*rank*/, const board::ProcessId& /*process*/) override { return true; }
  std::string describe(const board::ProcessId& /*process*/) override { return "a fiber"; }
  board::Eagerness eagerness(bool /*oversubscribed*/) const override { return {}; }
  Time yield(Time now) override { return now; }
  bool crowded(Time /*now*/) const override { return false; }
  board::Cores cores() const override { return {.mask = {0b11}}; }

 private:
  Hand& hand_;
};

/// No agent sleeps, so none has to be woken.
class SilentBell final : public fabric::Bell {
 public:
  const std::vector<std::byte>& address() const override { return address_; }
  void learn(int /*machine*/, std::span<const std::byte> /*address*/) override {}
  void ring(int /*machine*/) override {}
  std::vector<std::pair<int, int>> take_proven_ways() override { return {}; }
  void prefer(int /*machine*/, int /*way*/) override {}

 private:
  std::vector<std::byte> address_;
};

class HandDriver final : public agent::AgentDriver {
 public:
  HandDriver(Hand& hand, AgentParts parts)
      : hand_(hand),
        platform_(hand),
        memory_(parts.memory),
        roster_(memory_.roster(), board::Roster::kAgentsRank, platform_),
        mailbox_(memory_.mailbox(), roster_, platform_),
        agent_(std::move(parts.fabric), parts.topology, roster_, mailbox_, platform_, bell_,
               std::move(parts.source), parts.timeout) {
    hand_.add(*this);
  }
  HandDriver(const HandDriver&) = delete;
  HandDriver& operator=(const HandDriver&) = delete;
  ~HandDriver() override {
    HandDriver::finish();
    hand_.remove(*this);
  }

  void turn() {
    if (!agent_.over(hand_.now())) agent_.turn(hand_.now(), /*rung=*/false);
  }
  void drive(const board::Event& /*event*/, std::uint64_t /*seen*/, Time /*until*/) override {
    agent_.hurry(hand_.now());  // Its turn comes once the rank sleeps.
  }
  void finish() override {
    while (!agent_.over(hand_.now())) hand_.pause();
  }
  void set_timeout(Duration timeout) override { agent_.set_timeout(timeout); }

 private:
  Hand& hand_;
  HandPlatform platform_;
  agent::ControlMemory memory_;
  board::Roster roster_;
  agent::AgentMailbox mailbox_;
  SilentBell bell_;
  Agent agent_;
};

void Hand::enter(void* argument) {
  auto& rank = *static_cast<Rank*>(argument);
  try {
    (*rank.body)(*rank.world);
  } catch (...) {
    rank.error = std::current_exception();
  }
  rank.world.reset();  // The rank leaves; that of an agent stays until all have left.
  rank.ended = true;
  Fiber::change(rank.fiber, rank.hand->main_);
}

void Hand::turn_agents() {
  for (HandDriver* driver : drivers_) driver->turn();
}

void Hand::run(std::vector<World> worlds, const std::function<void(World&)>& body) {
  for (World& world : worlds) {
    auto rank = std::make_unique<Rank>();
    rank->hand = this;
    rank->world = std::make_unique<World>(std::move(world));
    rank->body = &body;
    rank->fiber.start(enter, rank.get());
    ranks_.push_back(std::move(rank));
  }
  worlds.clear();
  const auto ended = [](const auto& rank) { return rank->ended; };
  constexpr int kMostPasses = 1'000'000;
  for (int pass = 0; !std::ranges::all_of(ranks_, ended); ++pass, now_ += kTick) {
    if (pass == kMostPasses) throw std::runtime_error("the ranks come to no end");
    for (const auto& rank : ranks_) {
      if (rank->until <= now_) rank->word = nullptr;
      if (rank->ended || rank->word != nullptr) continue;
      running_ = rank.get();
      Fiber::change(main_, rank->fiber);
    }
    turn_agents();
  }
  for (const auto& rank : ranks_) {
    if (rank->error) std::rethrow_exception(rank->error);
  }
}

std::ptrdiff_t threads_here() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

struct Seen {
  std::uint64_t round = 0;
  std::vector<int> contributors;
  float sum = 0;
  Time at = 0;
  auto operator<=>(const Seen&) const = default;
};

/// What each rank sees of its rounds.
std::vector<std::vector<Seen>> play(const std::vector<int>& machines, const Trigger& trigger,
                                    int steps) {
  Hand hand;
  const auto threads = threads_here();
  auto worlds = machines_of_ranks(
      machines, /*dealt=*/true, memory_fabrics(static_cast<int>(machines.size())),
      [&] { return std::make_unique<HandPlatform>(hand); },
      [&](AgentParts parts) { return std::make_unique<HandDriver>(hand, std::move(parts)); });
  std::vector<std::vector<Seen>> seen(worlds.size());
  hand.run(std::move(worlds), [&](World& world) {
    auto& mine = seen[world.rank()];
    PartialAllreduce<float> sums(world, 3, {.trigger = trigger, .scale = Scale::none});
    const auto note = [&](const Round<float>& round) {
      mine.push_back({.round = round.receipt().round,
                      .contributors = round.receipt().contributors.list(),
                      .sum = round.sum()[1],
                      .at = hand.now()});
    };
    for (int step = 0; step < steps; ++step) {
      sums.slot()[1] = static_cast<float>(1 << world.rank());
      for (const auto& round : sums.exchange()) note(round);
    }
    EXPECT_EQ(threads_here(), threads) << "an agent has a thread";
    sums.finish(note);
  });
  return seen;
}

void expect_one_result_per_round(const std::vector<std::vector<Seen>>& seen) {
  for (const auto& mine : seen) {
    ASSERT_EQ(mine.size(), seen[0].size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(mine[i].round, i + 1);
      EXPECT_EQ(mine[i].contributors, seen[0][i].contributors);
      EXPECT_EQ(mine[i].sum, seen[0][i].sum);
    }
  }
}

TEST(AgentsDrivenByHand, RoundsOfAllRanksAgreeWithoutAThread) {
  constexpr int kSteps = 20;
  const auto seen = play({2, 1, 2}, all(), kSteps);
  ASSERT_GE(seen[0].size(), static_cast<std::size_t>(kSteps));
  expect_one_result_per_round(seen);
  for (int i = 0; i < kSteps; ++i) EXPECT_EQ(seen[0][i].sum, 31) << "round " << i + 1;
}

TEST(AgentsDrivenByHand, EveryDepositIsInOneRoundOfTheFirst) {
  constexpr int kSteps = 20;
  const auto seen = play({2, 1}, first(), kSteps);
  expect_one_result_per_round(seen);
  float total = 0;
  for (const Seen& round : seen[0]) total += round.sum;
  EXPECT_EQ(total, kSteps * 7);
}

TEST(AgentsDrivenByHand, TheSameHappensInEveryRun) {
  EXPECT_EQ(play({1, 2, 1}, first(), 10), play({1, 2, 1}, first(), 10));
}

}  // namespace
}  // namespace syncopate::testing

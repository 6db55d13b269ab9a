// What machines among many know of each other's life, and what it costs in messages: a machine that
// is lost is noticed while any rank waits, and a failure reaches all. Only the heartbeats are real:
// a clock, waits and messages are played, each message taking a moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/heartbeat.h"

namespace syncopate::agent {
namespace {

using Time = Heartbeat::Time;

constexpr Time kSecond = 1'000'000'000;
constexpr Time kMoment = 2'000'000;  ///< That a message takes, where agents sleep.
constexpr Time kBegin = 1'000 * kSecond;

/// Which machines have a rank that waits, …
using Waits = std::function<bool(int machine, Time now)>;

class Cluster {
 public:
  Cluster(int machines, Time timeout) : timeout_(timeout), lost_(machines) {
    for (int machine = 0; machine < machines; ++machine) {
      peers_.push_back(std::make_unique<PeerActivity>(machines));
      heartbeats_.emplace_back(machine, machines, *peers_.back());
    }
    waiting_since_.assign(machines, board::kNever);
  }
  void lose(int machine) { lost_[machine] = true; }

  /// Plays until a machine is given up or it is `until`. Returns which.
  std::optional<int> run(const Waits& waits, Time until) {
    for (; now_ < until; now_ += kMoment) {
      for (const auto& [from, to, hops] : std::exchange(flying_, {})) hear(from, to, hops);
      for (int machine = 0; machine < size(); ++machine) {
        Time& since = waiting_since_[machine];
        since = waits(machine, now_) ? std::min(since, now_) : board::kNever;
        if (lost_[machine]) continue;
        const auto hops = heartbeats_[machine].ask(now_, since, timeout_);
        if (hops) ask(machine, *hops);
      }
      if (given_up_) return given_up_;
    }
    return std::nullopt;
  }
  Time now() const { return now_; }
  std::int64_t asked() const { return asked_; }
  const Heartbeat& heartbeat(int machine) const { return heartbeats_[machine]; }

 private:
  struct Question {
    int from;
    int to;
    int hops;
  };

  int size() const { return static_cast<int>(heartbeats_.size()); }
  void hear(int from, int to, int hops) {
    if (lost_[to]) return;
    peers_[from]->note_heard(to, now_, false);  // The answer; its way is taken to be none.
    peers_[to]->note_heard(from, now_, false);
    const auto further = heartbeats_[to].pass_on(now_, hops, timeout_);
    if (further) ask(to, *further);
  }
  void ask(int machine, int hops) {
    const auto lost = heartbeats_[machine].lost(now_, timeout_);
    if (lost) given_up_ = lost;
    for (const int other : heartbeats_[machine].watched()) {
      ++asked_;
      flying_.push_back({machine, other, hops});
    }
  }

  Time timeout_;
  std::vector<bool> lost_;
  std::vector<std::unique_ptr<PeerActivity>> peers_;
  std::deque<Heartbeat> heartbeats_;
  std::vector<Time> waiting_since_;
  std::vector<Question> flying_;
  std::optional<int> given_up_;
  std::int64_t asked_ = 0;
  Time now_ = kBegin;
};

struct Case {
  const char* name;
  Waits waits;
};
/// The wait of one of them begins at once, and goes on.
std::vector<Case> cases(int machines) {
  const int last = machines - 1;
  return {{"one", [](int machine, Time) { return machine == 0; }},
          {"the last", [=](int machine, Time) { return machine == last; }},
          {"every third", [](int machine, Time) { return machine % 3 == 0; }},
          {"all", [](int, Time) { return true; }},
          {"one after the other",
           [](int machine, Time now) { return now >= kBegin + machine * kSecond / 16; }},
          {"most in short waits", [](int machine, Time now) {
             return machine == 0 || (now / kMoment + 37 * machine) % 1000 < 700;
           }}};
}

/// As many machines, waits and losses as there is time for.
TEST(ManyMachines, ALostMachineIsNoticedWhoeverWaits) {
  for (const int machines : {10, 64, 1024}) {
    for (const Time timeout : {8 * kSecond, 20 * kSecond}) {
      if (machines == 1024 && timeout > 8 * kSecond) continue;
      for (const Case& one : cases(machines)) {
        for (const int lost : {1, machines / 2}) {
          SCOPED_TRACE(std::to_string(machines) + " machines, " + one.name + " wait, " +
                       std::to_string(lost) + " is lost");
          Cluster cluster(machines, timeout);
          cluster.lose(lost);
          EXPECT_EQ(cluster.run(one.waits, kBegin + timeout), lost);
          const auto seconds = double(cluster.now() - kBegin) / kSecond;
          EXPECT_LE(double(cluster.asked()), 8 * machines * (seconds + 1));
        }
      }
    }
  }
}

TEST(ManyMachines, NoneIsGivenUpWhereAllLive) {
  constexpr int kMachines = 64;
  for (const Case& one : cases(kMachines)) {
    Cluster cluster(kMachines, 8 * kSecond);
    EXPECT_EQ(cluster.run(one.waits, kBegin + 20 * kSecond), std::nullopt) << one.name;
  }
}

TEST(ManyMachines, QuestionsEndWithTheWait) {
  Cluster cluster(64, 8 * kSecond);
  cluster.run([](int machine, Time now) { return machine == 0 && now < kBegin + 5 * kSecond; },
              kBegin + 6 * kSecond);
  const std::int64_t asked = cluster.asked();
  EXPECT_GT(asked, 0);
  cluster.run([](int, Time) { return false; }, kBegin + 20 * kSecond);
  EXPECT_EQ(cluster.asked(), asked);
}

/// Some machines notice at once; each that hears of it tells those that it watches, once.
TEST(ManyMachines, AFailureReachesAllByAFewMessagesEach) {
  for (const int machines : {10, 64, 1024}) {
    for (const int noticing : {1, 5, machines}) {
      for (const int lost : {0, 1, 4, 8}) {
        std::vector<bool> told(machines);
        std::deque<int> tell;
        // Lost machines stand in a row, as those of a rack do.
        const auto is_lost = [&](int machine) { return machine >= 1 && machine <= lost; };
        for (int i = 0; i < noticing; ++i) {
          const int machine = machines - 1 - i;
          if (is_lost(machine)) continue;
          told[machine] = true;
          tell.push_back(machine);
        }
        std::int64_t messages = 0;
        for (; !tell.empty(); tell.pop_front()) {
          for (const int other : Heartbeat::whom_to_watch(tell.front(), machines)) {
            ++messages;
            if (is_lost(other) || told[other]) continue;
            told[other] = true;
            tell.push_back(other);
          }
        }
        // All but what more losses than machines watch each could cut off.
        if (machines > 10 || lost < 2) {
          EXPECT_EQ(std::ranges::count(told, false), lost) << machines << " machines";
        }
        EXPECT_LE(messages, 8 * machines);
      }
    }
  }
}

}  // namespace
}  // namespace syncopate::agent

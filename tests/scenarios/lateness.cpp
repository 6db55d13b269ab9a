#include "scenarios/lateness.h"

#include <random>
#include <stdexcept>
#include <utility>

#include "scenarios/board_player.h"
#include "scenarios/judge.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr Moment kLatenesses[] = {200us, 500us, 1ms, 2ms, 4ms, 8ms};
constexpr int kPlays = 24;
/// A rank is late before each of its acts: a time that some of them lead to may differ by more.
constexpr int kSlack = 4;

/// Play 0: no rank is late, but ranks that come at the same moment are all there before the round
/// has taken any of them, as rounds of real ranks take time.
Scenario late(Scenario scenario, Moment most, int play) {
  std::mt19937_64 random(play);
  // Few different ones, so that ranks still come at the same moment now and then.
  std::uniform_int_distribution<int> delay(0, play == 0 ? 0 : 2);
  scenario.order = play % 3 == 0 ? Scenario::Order::interleaved : Scenario::Order::by_rank;
  for (std::vector<Act>& script : scenario.scripts) {
    std::vector<Act> acts;
    for (const Act& act : std::exchange(script, {})) {
      acts.push_back({.kind = Act::Kind::compute, .time = most * delay(random) / 2});
      acts.push_back(act);
    }
    script = std::move(acts);
  }
  return scenario;
}

std::vector<RoundExpectation> one_by_one(const std::vector<RoundExpectation>& rounds) {
  std::vector<RoundExpectation> result;
  const auto add = [&](const RoundExpectation& round, auto member) {
    if (!(round.*member)) return;
    RoundExpectation one{.round = round.round, .line = round.line};
    one.*member = round.*member;
    result.push_back(one);
  };
  for (const RoundExpectation& round : rounds) {
    add(round, &RoundExpectation::from);
    add(round, &RoundExpectation::sum);
    add(round, &RoundExpectation::staleness);
    add(round, &RoundExpectation::dropped);
    add(round, &RoundExpectation::weight);
    add(round, &RoundExpectation::started);
    add(round, &RoundExpectation::published);
    add(round, &RoundExpectation::last);
  }
  return result;
}

int expectations(const Scenario& scenario) {
  return static_cast<int>(scenario.rounds.size() + scenario.reads.size() + scenario.waits.size() +
                          scenario.knowledge.size() + scenario.numbers.size());
}

/// Takes away what the record does not keep. Returns what is wrong besides, such as an answer that
/// a rank gets.
std::vector<std::string> keep_what_holds(Scenario& scenario, const Record& record, Moment slack) {
  const Scenario promises = without_expectations(scenario);
  const auto keep = [&](auto expectations) {
    std::erase_if(scenario.*expectations, [&](const auto& one) {
      Scenario alone = promises;
      alone.*expectations = {one};
      return !judge(alone, record, slack).empty();
    });
  };
  keep(&Scenario::rounds);
  keep(&Scenario::reads);
  keep(&Scenario::waits);
  keep(&Scenario::knowledge);
  keep(&Scenario::numbers);
  return judge(promises, record, slack);
}

}  // namespace

Tolerant allow_lateness(const Scenario& scenario) {
  Tolerant result;
  for (const Moment lateness : kLatenesses) {
    Scenario kept = scenario;
    kept.rounds = one_by_one(scenario.rounds);
    const int expected = expectations(kept);
    std::vector<std::string> wrong;
    for (int play = 0; play < kPlays && wrong.empty(); ++play) {
      const Record record = play_on_board(late(kept, lateness, play));
      wrong = keep_what_holds(kept, record, kSlack * lateness);
    }
    const int held = expectations(kept);
    if (lateness == kLatenesses[0]) {
      if (!wrong.empty()) throw std::runtime_error("with ranks that are late: " + wrong.front());
    } else if (!wrong.empty() || held < result.kept) {
      break;
    }
    result = {.scenario = kept,
              .lateness = lateness,
              .slack = kSlack * lateness,
              .expected = expected,
              .kept = held};
  }
  result.end = play_on_board(scenario).end;
  return result;
}

}  // namespace syncopate::testing

#include "scenarios/judge.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace syncopate::testing {
namespace {

std::string text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "nobody";
  std::string result;
  for (const int rank : ranks) {
    result.append(result.empty() ? "" : " ").append(std::to_string(rank));
  }
  return result;
}

std::string text(double number) {
  std::ostringstream stream;
  stream << number;
  return stream.str();
}

std::string text(std::chrono::nanoseconds time) {
  return text(static_cast<double>(time.count()) / 1e6) + "ms";
}

std::string text(std::uint64_t number) { return std::to_string(number); }

std::string text(bool yes) { return yes ? "yes" : "no"; }

bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b)); }

class Judge {
 public:
  Judge(const Scenario& scenario, const Record& record, Moment slack)
      : scenario_(scenario), record_(record), slack_(slack) {}

  std::vector<std::string> verdict() {
    complaints_ = record_.complaints;
    judge_promises();
    judge_conservation();
    for (const auto& expected : scenario_.rounds) judge_round(expected);
    for (const auto& expected : scenario_.reads) judge_read(expected);
    for (const auto& expected : scenario_.waits) judge_wait(expected);
    for (const auto& expected : scenario_.knowledge) judge_knowledge(expected);
    for (const auto& expected : scenario_.numbers) judge_number(expected);
    judge_failures();
    return complaints_;
  }

 private:
  void complain(int line, const std::string& what) {
    complaints_.push_back((line > 0 ? "line " + std::to_string(line) + ": " : "") + what);
  }

  template <typename T>
  void compare(int line, const std::string& what, const std::optional<T>& expected,
               const T& found) {
    if (!expected) return;
    bool same = *expected == found;
    if constexpr (std::is_same_v<T, double>) same = close(*expected, found);
    if constexpr (std::is_same_v<T, Moment>) same = std::chrono::abs(*expected - found) <= slack_;
    if (!same) complain(line, what + " should be " + text(*expected) + " and is " + text(found));
  }

  const Reading* any_reading(std::uint64_t round) const {
    for (const RankRecord& rank : record_.ranks) {
      if (const auto found = rank.rounds.find(round); found != rank.rounds.end()) {
        return &found->second;
      }
    }
    return nullptr;
  }

  std::uint64_t last_round() const {
    std::uint64_t last = scenario_.begin_after;
    for (const RankRecord& rank : record_.ranks) {
      if (!rank.rounds.empty()) last = std::max(last, rank.rounds.rbegin()->first);
    }
    return last;
  }

  void judge_promises() {
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      std::uint64_t next = scenario_.begin_after + 1;
      for (const std::uint64_t round : record_.ranks[rank].order) {
        const std::string where =
            "rank " + std::to_string(rank) + ", round " + std::to_string(round) + ": ";
        if (round != next++) complain(0, where + "a round was skipped");
        const Reading& mine = record_.ranks[rank].rounds.at(round);
        const Reading& other = *any_reading(round);
        if (mine.values != other.values) complain(0, where + "another result than others read");
        if (mine.receipt.contributors != other.receipt.contributors ||
            mine.receipt.dropped != other.receipt.dropped ||
            mine.receipt.staleness != other.receipt.staleness ||
            mine.receipt.weight != other.receipt.weight ||
            mine.receipt.last != other.receipt.last || mine.receipt.round != round) {
          complain(0, where + "another receipt than others read");
        }
        if (mine.receipt.included != mine.receipt.contributors.contains(rank)) {
          complain(0, where + "the receipt contradicts itself");
        }
        if (mine.receipt.staleness > static_cast<std::uint64_t>(scenario_.options.window)) {
          complain(0, where + "staleness beyond the window");
        }
        for (std::size_t i = 1; i < mine.values.size(); ++i) {
          if (!close(mine.values[i], mine.values[0] * static_cast<double>(i + 1))) {
            complain(0, where + "the elements are not of one sum");
          }
        }
      }
    }
  }

  double total() const {
    double sum = 0;
    for (std::uint64_t round = scenario_.begin_after + 1; round <= last_round(); ++round) {
      if (const Reading* reading = any_reading(round)) sum += reading->values[0];
    }
    return sum;
  }

  /// Sums can be added up where nothing divides them and a last round has taken everything.
  void judge_conservation() {
    const bool ended = std::any_of(record_.ranks.begin(), record_.ranks.end(),
                                   [](const RankRecord& rank) { return rank.finished; });
    if (!ended || !record_.certain || scenario_.options.scale != Scale::none) return;
    if (!close(total(), record_.deposited)) {
      complain(0, "conservation: " + text(record_.deposited) + " was deposited and " +
                      text(total()) + " arrived");
    }
  }

  void judge_round(const RoundExpectation& expected) {
    const std::string name = "round " + std::to_string(expected.round);
    const Reading* found = any_reading(expected.round);
    if (found == nullptr) return complain(expected.line, name + " was read by no rank");
    const Receipt& receipt = found->receipt;
    const auto moment = [&](const std::map<std::uint64_t, Moment>& times) {
      const auto known = times.find(expected.round);
      return known == times.end() ? Moment(-1) : known->second;
    };
    compare(expected.line, name + ": from", expected.from, receipt.contributors.list());
    compare(expected.line, name + ": sum", expected.sum, found->values.at(0));
    compare(expected.line, name + ": staleness", expected.staleness, receipt.staleness);
    compare(expected.line, name + ": dropped", expected.dropped, receipt.dropped.list());
    compare(expected.line, name + ": weight", expected.weight, receipt.weight);
    compare(expected.line, name + ": started", expected.started, moment(record_.started));
    compare(expected.line, name + ": published", expected.published, moment(record_.published));
    compare(expected.line, name + ": last", expected.last, receipt.last);
  }

  const Reading* reading(int rank, std::uint64_t round, int line) {
    const auto& rounds = record_.ranks[rank].rounds;
    const auto found = rounds.find(round);
    if (found != rounds.end()) return &found->second;
    complain(line, "rank " + std::to_string(rank) + " did not read round " + std::to_string(round));
    return nullptr;
  }

  void judge_read(const ReadExpectation& expected) {
    const std::string name = "rank " + std::to_string(expected.rank) + " reads ";
    std::optional<std::uint64_t> call;
    for (std::uint64_t round = expected.first; round <= expected.last; ++round) {
      const Reading* found = reading(expected.rank, round, expected.line);
      if (found == nullptr) return;
      compare(expected.line, name + std::to_string(round) + " at: it", expected.at, found->at);
      if (call && *call != found->call) {
        complain(expected.line, name + std::to_string(round) + " by another call");
      }
      call = found->call;
    }
  }

  void judge_wait(const WaitExpectation& expected) {
    const Reading* found = reading(expected.rank, expected.round, expected.line);
    if (found == nullptr) return;
    const std::string name = "rank " + std::to_string(expected.rank) + ", round " +
                             std::to_string(expected.round) + ": waited";
    compare(expected.line, name, std::optional(expected.time), found->receipt.waited);
    if (expected.waited_for && *expected.waited_for != found->receipt.waited_for) {
      complain(expected.line, name + " for should be " + std::to_string(*expected.waited_for) +
                                  " and is " + std::to_string(found->receipt.waited_for));
    }
  }

  void judge_knowledge(const KnowledgeExpectation& expected) {
    const Reading* found = reading(expected.rank, expected.round, expected.line);
    if (found == nullptr) return;
    compare(expected.line, "rank " + std::to_string(expected.rank) + " knows dead",
            std::optional(expected.dead), found->receipt.dead.list());
  }

  void judge_number(const NumberExpectation& expected) {
    double found = 0;
    std::string name;
    switch (expected.of) {
      case NumberExpectation::Of::rounds:
        name = "rounds";
        found = static_cast<double>(last_round() - scenario_.begin_after);
        break;
      case NumberExpectation::Of::total:
        name = "total";
        found = total();
        break;
      case NumberExpectation::Of::drops:
        name = "drops of rank " + std::to_string(expected.rank);
        found = static_cast<double>(record_.ranks[expected.rank].drops);
        break;
    }
    compare(expected.line, name, std::optional(expected.number), found);
  }

  void judge_failures() {
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      const std::optional<Failure>& failure = record_.ranks[rank].failure;
      const auto expected =
          std::find_if(scenario_.failures.begin(), scenario_.failures.end(),
                       [rank](const FailureExpectation& one) { return one.rank == rank; });
      const std::string name = "rank " + std::to_string(rank);
      if (expected == scenario_.failures.end()) {
        if (failure) complain(0, name + " failed: " + failure->message);
        continue;
      }
      if (!failure) {
        complain(expected->line, name + " did not fail");
        continue;
      }
      if (expected->code != to_string(failure->code)) {
        complain(expected->line, name + " failed otherwise: " + failure->message);
      }
      for (const int named : expected->naming) {
        if (failure->message.find("rank " + std::to_string(named) + " (") == std::string::npos) {
          complain(expected->line,
                   name + " does not name " + std::to_string(named) + ": " + failure->message);
        }
      }
      compare(expected->line, name + " fails at: it", expected->at, failure->at);
    }
  }

  const Scenario& scenario_;
  const Record& record_;
  Moment slack_;
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> judge(const Scenario& scenario, const Record& record, Moment slack) {
  return Judge(scenario, record, slack).verdict();
}

Scenario without_expectations(Scenario scenario) {
  scenario.rounds.clear();
  scenario.reads.clear();
  scenario.waits.clear();
  scenario.knowledge.clear();
  scenario.numbers.clear();
  return scenario;
}

Scenario for_other_back_ends(Scenario scenario) {
  const auto take_away = [&lines = scenario.lines_about_the_board](auto& expectations) {
    std::erase_if(expectations, [&](const auto& one) {
      return std::find(lines.begin(), lines.end(), one.line) != lines.end();
    });
  };
  take_away(scenario.rounds);
  take_away(scenario.reads);
  take_away(scenario.waits);
  take_away(scenario.failures);
  take_away(scenario.knowledge);
  take_away(scenario.numbers);
  return scenario;
}

}  // namespace syncopate::testing

// Plays scenario files and says what they did not keep:   scenario_test FILE…
// With --show the rounds are printed, as a start for what a new scenario is to expect.
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "scenarios/board_player.h"
#include "scenarios/judge.h"

namespace syncopate::testing {
namespace {

std::string list(const RankSet& ranks) {
  std::string text;
  for (const int rank : ranks.list()) text.append(" ").append(std::to_string(rank));
  return text.empty() ? " nobody" : text;
}

double milliseconds(Moment moment) { return static_cast<double>(moment.count()) / 1e6; }

void show(const Record& record) {
  for (const auto& [round, published] : record.published) {
    for (const RankRecord& rank : record.ranks) {
      const auto found = rank.rounds.find(round);
      if (found == rank.rounds.end()) continue;
      const Receipt& receipt = found->second.receipt;
      std::printf("expect round %llu from%s, sum %g, staleness %llu, started %gms, published %gms",
                  static_cast<unsigned long long>(round), list(receipt.contributors).c_str(),
                  found->second.values.at(0), static_cast<unsigned long long>(receipt.staleness),
                  milliseconds(record.started.at(round)), milliseconds(published));
      if (!receipt.dropped.empty()) std::printf(", dropped%s", list(receipt.dropped).c_str());
      std::printf("%s\n", receipt.last ? ", last" : "");
      break;
    }
  }
  for (std::size_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const auto& [round, reading] : record.ranks[rank].rounds) {
      std::printf("# rank %zu reads %llu at %gms, waits %gms for %d, knows dead%s\n", rank,
                  static_cast<unsigned long long>(round), milliseconds(reading.at),
                  milliseconds(reading.receipt.waited), reading.receipt.waited_for,
                  list(reading.receipt.dead).c_str());
    }
    if (const auto& failure = record.ranks[rank].failure) {
      std::printf("# rank %zu fails at %gms: %s\n", rank, milliseconds(failure->at),
                  failure->message.c_str());
    }
  }
}

bool passes(const char* path, bool shown) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot be read");
  const Scenario scenario = Scenario::parse(text.str());
  const Record record = play_on_board(scenario);
  if (shown) show(record);
  const std::vector<std::string> complaints = judge(scenario, record);
  for (const std::string& complaint : complaints) std::printf("%s: %s\n", path, complaint.c_str());
  return complaints.empty();
}

}  // namespace
}  // namespace syncopate::testing

int main(int count, char** arguments) {
  bool shown = false;
  bool passed = true;
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) == "--show") {
      shown = true;
      continue;
    }
    try {
      passed &= syncopate::testing::passes(arguments[i], shown);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", arguments[i], error.what());
      passed = false;
    }
  }
  return passed ? 0 : 1;
}

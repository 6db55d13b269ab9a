// The grid that a promise is tested on: threads and processes, every number of ranks, every
// trigger.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "support/common.h"
#include "support/crew.h"
#include "support/training.h"

namespace syncopate::testing {

inline constexpr const char* kCrewNames[] = {"Threads", "Processes", "OnMachines", "UnderMpirun"};
inline constexpr const char* kTriggers[] = {"all", "first", "majority", "count"};

/// "count" means a bit more than half of the ranks.
inline Trigger trigger_named(const std::string& name, int ranks) {
  if (name == "count") return count(ranks / 2 + 1);
  return Trigger::parse(name);
}

class Promise : public ::testing::TestWithParam<std::tuple<Crew, int, const char*>> {
 protected:
  Crew crew() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
  Trigger trigger() const { return trigger_named(std::get<2>(GetParam()), ranks()); }

  /// Runs the same training on every rank.
  template <typename T = float>
  void train(const Training& training) {
    Common<AuditBook> book;
    run(crew(), ranks(), [&](World& world) { Trainee<T>(world, *book, training).run(); });
  }

  static std::string name(const ::testing::TestParamInfo<ParamType>& info) {
    const auto& [crew, ranks, trigger] = info.param;
    return std::to_string(ranks) + kCrewNames[static_cast<int>(crew)] + "_" + trigger;
  }

 public:
  using Name = decltype(&name);
  static constexpr Name kName = &name;
};

/// What the ranks are in this program: each program of promise tests says so in a file of its
/// own, because a program that has made threads must not fork.
Crew crew_of_this_program();

/// More processes and agents than cores, as mpirun starts them, are as slow as a sanitizer.
inline int thrift() { return crew_of_this_program() == Crew::mpirun ? 10 : kThrift; }

/// These numbers of ranks, or the only one that there is.
inline std::vector<int> rank_counts(std::vector<int> wanted) {
  if (crew_of_this_program() == Crew::mpirun) return {mpirun_ranks()};
  // Under a sanitizer each machine's agent takes its time; a few machines show it as much.
  if (crew_of_this_program() == Crew::machines && kThrift > 1) {
    std::erase_if(wanted, [](int ranks) { return ranks > 5; });
  }
  return wanted;
}

/// Every trigger with the given numbers of ranks.
template <typename... Ranks>
auto promise_grid(Ranks... ranks) {
  return ::testing::Combine(::testing::Values(crew_of_this_program()),
                            ::testing::ValuesIn(rank_counts({ranks...})),
                            ::testing::ValuesIn(kTriggers));
}

inline auto promise_grid() {
  return std::apply([](auto... ranks) { return promise_grid(ranks...); }, kRankCounts);
}

}  // namespace syncopate::testing

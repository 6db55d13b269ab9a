// What came of a scenario on some back end: what the ranks were told, and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "syncopate/receipt.h"

namespace syncopate::testing {

struct Reading {
  std::vector<double> values;
  Receipt receipt;
  Moment at;
  std::uint64_t call;  ///< Rounds that one call returned have the same number.
};

struct Failure {
  ErrorCode code;
  std::string message;
  Moment at;
};

struct RankRecord {
  std::map<std::uint64_t, Reading> rounds;
  std::vector<std::uint64_t> order;  ///< In which it read them.
  std::optional<Failure> failure;
  std::uint64_t drops = 0;
  bool finished = false;  ///< By finish().
};

struct Record {
  std::vector<RankRecord> ranks;
  std::map<std::uint64_t, Moment> started;
  std::map<std::uint64_t, Moment> published;
  Moment end{0};         ///< When nothing was left to do.
  double deposited = 0;  ///< The sum over all deposits that were completed and not dropped.
  bool certain = true;   ///< No rank died in the middle of a deposit.
  /// What went wrong besides: a rank never came to its end, an answer was not the expected one.
  std::vector<std::string> complaints;
};

}  // namespace syncopate::testing

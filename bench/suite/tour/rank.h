// One rank of the tour: takes its steps, exchanges gradients (or weights) on the board, and keeps
// the books: whom it waited for, and whether every gradient came out again exactly once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/options.h"

namespace syncopate::cli::tour {

inline constexpr const char* kRankCommand = "tour-rank";

/// Who is slow.
enum class Skew {
  turns,      ///< everyone in turn: in step s, rank r needs (r + s) mod P times 5 ms
  straggler,  ///< the last rank, always
};

NLOHMANN_JSON_SERIALIZE_ENUM(Skew, {{Skew::turns, "turns"}, {Skew::straggler, "straggler"}})

inline constexpr double kTurnMilliseconds = 5;
inline constexpr double kStragglerMilliseconds = 60;
/// The others' steps with Skew::straggler are from this to 2 ms more, as real ones vary a little.
inline constexpr double kUsualMilliseconds = 10;

/// The straggler may lag behind by all the rounds the others run meanwhile.
inline constexpr int kWindow = base::kLargestWindow;

struct Work {
  Skew skew = Skew::turns;
  int steps = 100;              ///< Of every rank that is not a straggler.
  std::string trigger = "all";  ///< Or "group": weights are averaged in groups of group_size.
  std::string grace = "off";
  int group_size = 0;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Work, skew, steps, trigger, grace, group_size)

/// What all ranks together saw.
struct Seen {
  double step_ms = 0;           ///< Mean time per step, of the ranks that are not stragglers.
  double contributors = 0;      ///< Mean per round.
  double wait_ms = 0;           ///< Mean per step.
  int waited_for = -1;          ///< The rank that most of the waiting was for.
  double waited_for_share = 0;  ///< Its share of the waiting.
  double gradients = 0;         ///< That were deposited; 0 where weights are averaged.
  double lost = 0;              ///< Deposits less what the rounds hold; below 0: counted twice.
  int exact_ranks = 0;          ///< Ranks whose sum over rounds equals the sum over deposits.
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Seen, step_ms, contributors, wait_ms, waited_for,
                                                waited_for_share, gradients, lost, exact_ranks)

/// Does the work that is given as JSON; rank 0 prints what was seen.
void run_rank(const std::string& work);

}  // namespace syncopate::cli::tour

// What a user asks of `syncopate bench`: the options as typed, and the checked request they make.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/peers/workload.h"
#include "bench/suite/neighbors.h"
#include "bench/suite/side.h"

namespace syncopate::cli::bench {

/// The options as they were typed. Empty: not given, and the benchmark's own default holds.
struct Typed {
  std::string ranks, bytes, iterations, seconds, warmup, repeat, against, json, timeout;
  std::string triggers, grace, window, group_size, synchronize_every;
  std::string fabric, ranks_each, machines;
  std::string neighbors, neighbors_nice;
  bool neighbors_pinned = false;
  bool no_touch = false;
  bool read = false;
  bool chronic = false;
};

/// What every benchmark is told, and what holds if it is not.
struct Defaults {
  std::string operation;
  int ranks = 1;
  std::string bytes;
  std::string triggers = "all";
  std::string against = "none";
  int repetitions = 1;
  int iterations = 0;  ///< 0: by time
  std::string fabric;  ///< Empty: one board.
};

struct Request {
  peers::Workload work;
  int ranks = 1;
  std::vector<std::string> triggers;
  int repetitions = 1;
  double timeout_seconds = 0;
  Peers peers;
  Side ours;
  std::string fabric;  ///< Empty: one board.
  int ranks_each = 1;  ///< With a fabric.
  NeighborOptions neighbors;
  std::string json_file;
  bool speaks = true;  ///< Of ranks that a launcher has started, the first shows the results.

  /// That bench makes of this host.
  int machines() const { return fabric.empty() ? 1 : (ranks + ranks_each - 1) / ranks_each; }
};

/// What is between boards, and how many ranks each has.
void add_fabric_options(CLI::App& command, Typed& typed, const Defaults& defaults);
/// How many ranks, and the same.
void add_rank_options(CLI::App& command, Typed& typed, const Defaults& defaults);
/// How often, for how long at most, and where the rows go.
void add_run_options(CLI::App& command, Typed& typed, const Defaults& defaults);
/// Both, and the sizes.
void add_common_options(CLI::App& command, Typed& typed, const Defaults& defaults);
/// Busy processes of someone else beside the ranks.
void add_neighbor_options(CLI::App& command, Typed& typed);
void add_plain_options(CLI::App& command, Typed& typed);
void add_skew_options(CLI::App& command, Typed& typed, const Defaults& defaults);

/// Checks everything before anything starts; throws UsageError.
Request checked(const Typed& typed, const Defaults& defaults);

}  // namespace syncopate::cli::bench

// The sides of a comparison, ours and the peers': where each one's driver is, how its ranks are
// started, and what came out.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fabric/job_environment.h"

namespace syncopate::cli::bench {

struct Side {
  std::string name;                  ///< "syncopate", "openmpi", "mpich" or "gloo"
  std::string note;                  ///< How it is run, for the reader of the figures.
  std::vector<std::string> command;  ///< The workload is added as the last argument.
  std::vector<std::pair<std::string, std::string>> environment;
  int processes = 1;  ///< How many the launcher starts; a peer starts its ranks itself.
  /// Instead of a command: this process does the work, as one of the ranks that a launcher started.
  std::function<std::vector<nlohmann::json>(const nlohmann::json& work)> here = nullptr;
};

/// The user ended the job; the exit code says how.
struct Interrupted {
  int exit_code;
};

/// The name of an MPI; for "mpi" that of the one that is there, Open MPI before MPICH.
std::string named_fabric(const std::string& typed);
/// This program's hidden command `command` as ranks on one board.
Side our_side(int ranks, const std::string& command);
/// The same on boards of `ranks_each` ranks, with `fabric` ("openmpi", "mpich" or "tcp") between
/// them. Throws UsageError if that is not there.
Side our_side_across(int ranks, const std::string& command, const std::string& fabric,
                     int ranks_each);

/// This process and the others that `launcher` has started.
Side our_side_here(const fabric::JobEnvironment& launcher);

/// The names --against knows, besides "all" and "none".
const std::vector<std::string>& peer_names();

struct Peers {
  std::vector<Side> found;
  std::vector<std::string> missing;  ///< One sentence for each: what is not there and what has it.
};

/// The peers in a list such as "openmpi,gloo" or "all" or "none". Throws UsageError for others.
/// `also_unbound`: MPIs that bind ranks to cores by themselves are there twice, bound and free to
/// move.
Peers find_peers(const std::string& list, int ranks, bool also_unbound = false);

/// Runs a side and returns the objects it printed. Throws std::runtime_error with the end of what
/// it wrote to stderr if it failed, and Interrupted if the user ended it.
std::vector<nlohmann::json> run_side(const Side& side, const nlohmann::json& work,
                                     double timeout_seconds);

}  // namespace syncopate::cli::bench

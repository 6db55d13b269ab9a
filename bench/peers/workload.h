// What one benchmark run does, the same for every side. `syncopate bench` writes it as JSON
// and hands it to the drivers as their one argument: a rank of ours, MPI's, Gloo's.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace peers {

/// Who comes late to the calls, and by how much.
enum class Skew {
  none,     ///< no rank: what the collective itself costs
  arrival,  ///< rank r sleeps r x skew_ms before each call; a barrier between iterations
  chronic,  ///< rank 0 sleeps slow_ms before each call, the others fast_ms; no barrier
};

NLOHMANN_JSON_SERIALIZE_ENUM(Skew, {{Skew::none, "none"},
                                    {Skew::arrival, "arrival"},
                                    {Skew::chronic, "chronic"}})

/// With "activation", what the others do when one arrives.
enum class Others {
  wait,     ///< for it
  away,     ///< asleep: no rank waits or looks on their machines
  compute,  ///< they keep their cores busy
};

NLOHMANN_JSON_SERIALIZE_ENUM(Others, {{Others::wait, "wait"},
                                      {Others::away, "away"},
                                      {Others::compute, "compute"}})

struct Workload {
  /// "allreduce", "partial", "group", "activation" or "idle"; peers allreduce.
  std::string operation = "allreduce";
  Skew skew = Skew::none;
  std::vector<std::size_t> bytes = {8};
  int iterations = 0;    ///< 0: as many as fit into `seconds`
  double seconds = 0.5;  ///< For each size, if iterations is 0.
  int warmup = 10;
  bool touch = true;     ///< Each rank rewrites its values before each call, untimed.
  bool read = false;     ///< Each rank reads the whole result within the timed part.
  bool average = false;  ///< A peer divides the result by the ranks, as a group average does.
  double skew_ms = 1;
  double slow_ms = 32;
  double fast_ms = 1;

  // For our side only; the peers know nothing but waiting for everyone.
  std::string trigger = "all";
  std::string grace = "off";
  int window = 8;
  int group_size = 0;
  int synchronize_every = 10;
  Others others = Others::wait;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Workload, operation, skew, bytes, iterations,
                                                seconds, warmup, touch, read, average, skew_ms,
                                                slow_ms, fast_ms, trigger, grace, window,
                                                group_size, synchronize_every, others)

}  // namespace peers

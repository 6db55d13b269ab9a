// Busy processes of someone else, for benchmarks beside them: each takes what it can get of a core,
// and ends with the object.
#pragma once

#include <sys/types.h>

#include <vector>

namespace syncopate::cli::bench {

struct NeighborOptions {
  int count = 0;
  bool pinned = false;  ///< Neighbor i stays on the i-th of the cores that may be used.
  int nice = 0;         ///< Above 0 they give way, as `nice` says.
};

class Neighbors {
 public:
  /// Throws std::runtime_error if they cannot be started.
  explicit Neighbors(const NeighborOptions& options);
  ~Neighbors();
  Neighbors(const Neighbors&) = delete;
  Neighbors& operator=(const Neighbors&) = delete;

 private:
  void end();

  std::vector<pid_t> processes_;
};

}  // namespace syncopate::cli::bench

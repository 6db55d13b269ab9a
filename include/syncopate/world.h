// The ranks that train together, and this process's place among them. A World is a cheap
// handle; collectives keep what they need of it alive. Every rank makes its collectives in
// the same order. One thread at a time may use a rank's World and its collectives, in the process
// that made it: a forked child is not the rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "syncopate/policy.h"
#include "syncopate/rank_set.h"
#include "syncopate/types.h"

namespace syncopate {

namespace detail {
class WorldState;
}

class World {
 public:
  /// The world that `syncopate run`, mpirun, srun or torchrun (on one machine) started this process
  /// in, or a world of one rank.
  static World from_environment();

  /// `ranks` worlds for as many threads of this process; element r is for rank r.
  static std::vector<World> threads(int ranks);

  int rank() const;
  int size() const;

  /// Ranks that are known to have died: killed, crashed, or ended without leaving.
  RankSet dead() const;

  /// How long any wait may last before it throws Error(timeout). From SYNCOPATE_TIMEOUT
  /// (seconds) if set, else five minutes. How long another machine may be silent is what the first
  /// rank of this one has set.
  Duration timeout() const;
  void set_timeout(Duration timeout);

  /// Returns when every live rank has called it.
  void barrier();

  /// Copies `data` of rank `root` into `data` of every other rank, bit for bit.
  template <typename T>
  void broadcast(std::span<T> data, int root) {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(data.data(), data.size_bytes(), root);
  }

  const std::shared_ptr<detail::WorldState>& shared_state() const { return state_; }
  explicit World(std::shared_ptr<detail::WorldState> state) : state_(std::move(state)) {}

 private:
  void broadcast_bytes(void* data, std::size_t bytes, int root);

  std::shared_ptr<detail::WorldState> state_;
};

}  // namespace syncopate

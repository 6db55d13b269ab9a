// The ranks that train together, and this process's place among them. A World is a cheap
// handle; collectives keep what they need of it alive. Every rank makes its collectives in
// the same order. One thread at a time may use a rank's World and its collectives, in the process
// that made it: a forked child is not the rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "syncopate/policy.h"
#include "syncopate/rank_set.h"
#include "syncopate/rendezvous.h"
#include "syncopate/types.h"

namespace syncopate {

namespace detail {
class WorldState;
struct WorldAccess;
}  // namespace detail

class World {
 public:
  /// The world that `syncopate run`, mpirun, srun or torchrun started this process in, or a world
  /// of one rank.
  static World from_environment();

  /// The world of `size` ranks that find each other by `rendezvous`: all of them call it. Ranks of
  /// one machine meet in its memory, and machines by TCP. A process may join several; each has a
  /// name of its own, of at most 200 letters, digits, dots, dashes and underscores, that was never
  /// used with this rendezvous. Throws `timeout`, which names who did not come within
  /// SYNCOPATE_TIMEOUT, and `environment` if ranks are of different builds.
  static World join(Rendezvous& rendezvous, int rank, int size, const std::string& name = "world");

  /// `ranks` worlds for as many threads of this process; element r is for rank r.
  static std::vector<World> threads(int ranks);

  /// From 0 to size() - 1.
  int rank() const;
  int size() const;

  /// This rank among those of its machine, from 0 to local_size() - 1, in the order of their ranks.
  /// It is what a rank chooses its GPU by: local_rank() % devices.
  int local_rank() const;
  int local_size() const;
  /// This machine among all of them, from 0 to machines() - 1. Those that SYNCOPATE_SPLIT makes of
  /// one host count each.
  int machine() const;
  int machines() const;
  /// How many cores the ranks of this machine may run on, together. Right once all ranks have come,
  /// after a barrier say.
  int cores() const;

  /// Ranks that are known to have died: killed, crashed, or ended without leaving.
  RankSet dead() const;
  /// The same, and the ranks of this machine that have left in good order.
  RankSet gone() const;

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

 private:
  friend struct detail::WorldAccess;

  explicit World(std::shared_ptr<detail::WorldState> state) : state_(std::move(state)) {}
  void broadcast_bytes(void* data, std::size_t bytes, int root);

  std::shared_ptr<detail::WorldState> state_;
};

}  // namespace syncopate

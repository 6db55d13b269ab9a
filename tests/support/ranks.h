// Runs the same function on several ranks: as threads of this process, or as processes.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "syncopate/world.h"

namespace syncopate::testing {

/// Calls `body` on a thread per rank and returns when all are done; rethrows the first error.
inline void on_threads(std::vector<World> worlds, const std::function<void(World&)>& body) {
  const int ranks = static_cast<int>(worlds.size());
  std::vector<std::exception_ptr> errors(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    // Each thread owns its world, so that a rank that ends early has left for the others.
    threads.emplace_back([&, rank, world = std::move(worlds[rank])]() mutable {
      try {
        body(world);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  worlds.clear();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

inline void on_threads(int ranks, const std::function<void(World&)>& body) {
  on_threads(World::threads(ranks), body);
}

}  // namespace syncopate::testing

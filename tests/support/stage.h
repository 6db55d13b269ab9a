// Sets up a board for the ranks of a scripted Machine, in ordinary memory that is used again
// from play to play: no segment, no World, a microsecond or two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "board/roster.h"
#include "support/machine.h"
#include "support/scripted_platform.h"
#include "syncopate/types.h"

namespace syncopate::testing {

class Stage {
 public:
  Stage() = default;
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// A fresh world of `ranks`, all of whom have joined. Exchanges made before must be gone.
  void set(int ranks);

  Machine& machine() { return machine_; }
  int ranks() const { return static_cast<int>(rosters_.size()); }
  board::Roster& roster(int rank) { return *rosters_[rank]; }
  board::Platform& platform(int rank) { return *platforms_[rank]; }

  /// Memory of a collective, zeroed; valid until the next call.
  std::byte* region(std::size_t bytes) { return region_.zeroed(bytes); }

  /// One exchange per rank (PartialExchange, group::Exchange) on one region of `bytes` bytes.
  /// `make_one(rank, memory)` makes them, in the order of ranks.
  template <typename Exchange, typename MakeOne>
  std::vector<std::unique_ptr<Exchange>> make(std::size_t bytes, const MakeOne& make_one) {
    std::byte* memory = region(bytes);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    exchanges.reserve(rosters_.size());
    for (int rank = 0; rank < ranks(); ++rank) exchanges.push_back(make_one(rank, memory));
    return exchanges;
  }

 private:
  class Memory {
   public:
    ~Memory();
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* zeroed(std::size_t bytes);

   private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
  };

  Machine machine_;
  Memory roster_memory_;
  Memory region_;
  std::vector<std::unique_ptr<ScriptedPlatform>> platforms_;
  std::vector<std::unique_ptr<board::Roster>> rosters_;
};

}  // namespace syncopate::testing

// The memory of one collective on the board of its machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "board/roster.h"
#include "board/segment.h"

namespace syncopate::board {

/// Where regions lie: one behind the other, so that all ranks and agents that count them find the
/// same.
class RegionPlan {
 public:
  /// From `begin` on, on a machine of `ranks` ranks.
  RegionPlan(std::uint64_t begin, int ranks) : next_(begin), ranks_(ranks) {}
  /// The place of the next one.
  std::uint64_t next(std::size_t bytes);
  /// How many there have been.
  int count() const { return count_; }

 private:
  std::uint64_t next_;
  int ranks_;
  int count_ = 0;
};

/// One user's hold on a region. The last to let go gives the memory back.
class Region {
 public:
  /// `user` is a rank of this machine, or agent_of() it.
  Region(std::shared_ptr<board::Segment> segment, const board::Roster& roster, int user,
         std::uint64_t offset, std::size_t bytes);
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  static int agent_of(const board::Roster& roster) { return roster.local_size(); }
  std::byte* data() const { return mapping_->data(); }

 private:
  board::Shared<std::uint8_t>& departed(int user) const;
  bool in_use() const;

  std::shared_ptr<board::Segment> segment_;
  const board::Roster& roster_;
  int user_;
  std::uint64_t offset_;
  std::size_t bytes_;
  std::shared_ptr<board::Mapping> mapping_;
};

}  // namespace syncopate::board

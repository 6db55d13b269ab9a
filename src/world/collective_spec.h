// What ranks tell their machine's agent when they make a collective: all that it needs to look
// after it, as plain data, so that it reaches machines too whose own ranks have left the world.
#pragma once

#include <cstdint>

#include "board/seats.h"
#include "fabric/fabric.h"
#include "syncopate/group_average.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/types.h"

namespace syncopate::world {

struct CollectiveSpec {
  enum class Kind : std::uint8_t {
    nothing,  ///< What was agreed on needs no task to look after it.
    world,    ///< The world itself.
    partial,
    carrier,  ///< A partial allreduce of bits, for broadcasts.
    group,
  };
  Kind kind = Kind::nothing;
  bool refused = false;  ///< Some rank had no room for it: its place stays empty, without a task.
  DataType type = DataType::float32;
  std::uint64_t elements = 0;
  PartialOptions partial{};
  GroupOptions group{};

  board::Attachment pack() const;
  /// Whether it is an order at all. No bytes are none, as zeros are.
  static bool is_some(const board::Attachment& bytes) {
    return bytes.front() != static_cast<std::byte>(Kind::nothing);
  }
  /// One of machine `from`. Throws BadMessage if no rank can have ordered that.
  static CollectiveSpec unpack(const board::Attachment& bytes, int from,
                               const fabric::Topology& topology);
};

}  // namespace syncopate::world

// What ranks tell their machine's agent when they make a collective: all that it needs to look
// after it, as plain data, so that it reaches machines too whose own ranks have left the world.
#pragma once

#include <cstring>
#include <type_traits>

#include "board/roster.h"
#include "syncopate/group_average.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/types.h"

namespace syncopate::detail {

struct Order {
  enum class Kind : std::uint8_t {
    nothing,  ///< What was agreed on needs nobody to look after it.
    world,    ///< The world itself.
    partial,
    carrier,  ///< A partial allreduce of bits, for broadcasts.
    group,
  };
  Kind kind = Kind::nothing;
  bool refused = false;  ///< Nobody had room for it: its place stays empty, without a task.
  DataType type = DataType::float32;
  std::uint64_t elements = 0;
  PartialOptions partial{};
  GroupOptions group{};

  board::Attachment pack() const {
    board::Attachment bytes{};
    std::memcpy(bytes.data(), this, sizeof *this);
    return bytes;
  }
  static Order unpack(const board::Attachment& bytes) {
    Order order;
    std::memcpy(&order, bytes.data(), sizeof order);
    return order;
  }
};

static_assert(std::is_trivially_copyable_v<Order> && sizeof(Order) <= sizeof(board::Attachment));

}  // namespace syncopate::detail

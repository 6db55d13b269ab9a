// Values of a channel on their way: the memory they are sent from or received into. Shared by the
// operation, which may be given up, and the connection, which then leaves the memory alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

namespace syncopate::fabric::tcp {

struct Transfer {
  const std::byte* from = nullptr;  ///< What is sent, or …
  std::byte* into = nullptr;        ///< … where it is received.
  std::size_t bytes = 0;
  std::size_t moved = 0;  ///< Of them.
  bool done = false;
  bool given_up = false;  ///< The memory is gone.
};
using TransferPointer = std::shared_ptr<Transfer>;

/// A channel and a tag of it.
struct Way {
  std::uint32_t channel = 0;
  std::uint16_t tag = 0;
  auto operator<=>(const Way&) const = default;
};

/// Which channels there are here. Machines open them in the same order, so their numbers agree; but
/// not at the same time, so one that is not open yet may be some time.
struct OpenChannels {
  std::uint32_t next = 0;
  std::set<std::uint32_t> open;
  bool over(std::uint32_t channel) const { return channel < next && !open.contains(channel); }
};

}  // namespace syncopate::fabric::tcp

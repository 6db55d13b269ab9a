// The bytes of an input, taken one after another by a fuzzer that makes something of them: zeros
// when there are none left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/bad_message.h"

namespace syncopate {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : bytes_(std::as_bytes(std::span(data, size))) {}

  bool empty() const { return bytes_.empty(); }
  template <typename T>
  T take() {
    static_assert(std::is_integral_v<T>);
    T value = 0;
    const auto taken = take_bytes(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  /// From 0 to `count` − 1.
  int below(int count) { return take<std::uint8_t>() % count; }
  /// A number near `value`, or any.
  std::uint64_t near(std::uint64_t value) {
    const int distance = take<std::int8_t>();
    return distance == INT8_MIN ? take<std::uint64_t>() : value + distance / 16;
  }
  int near(int value) {
    const int distance = take<std::int8_t>();
    return distance == INT8_MIN ? take<int>() : value + distance / 16;
  }
  std::span<const std::byte> take_bytes(std::size_t count) {
    const auto taken = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Calls something that hears what another machine says. Returns whether that made sense; whatever
/// else it throws ends the program.
template <typename Hear>
bool sensible(const Hear& hear) {
  try {
    hear();
    return true;
  } catch (const BadMessage&) {
    return false;
  }
}

}  // namespace syncopate

// Puts values into the bytes of a message and takes them out again. Both ends run the same program
// on the same kind of processor, so the bytes are what memory holds. What is taken out is checked
// on the way: the one who unpacks says what each value may be, and throws BadMessage for all else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bad_message.h"

namespace syncopate::fabric {

class Packer {
 public:
  template <typename T>
  Packer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  Packer& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  /// Of a message of machine `from`.
  Unpacker(std::span<const std::byte> bytes, int from) : bytes_(bytes), from_(from) {}

  /// Of a type all of whose bits are values: neither flags nor enumerators.
  template <typename T>
  T take() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    return take_bits<T>();
  }
  bool take_flag() {
    const auto value = take<std::uint8_t>();
    if (value > 1) refuse("has a flag that is neither on nor off");
    return value == 1;
  }
  /// One of an enumeration that has values from 0 to `last`.
  template <typename Enumeration>
  Enumeration take_enumerator(Enumeration last) {
    static_assert(std::is_enum_v<Enumeration>);
    const auto value = take_bits<std::underlying_type_t<Enumeration>>();
    if (value < 0 || value > static_cast<std::underlying_type_t<Enumeration>>(last)) {
      refuse("is of a kind that there is not");
    }
    return static_cast<Enumeration>(value);
  }
  /// From `low` to `high`; `name` is what it is, for the error.
  template <typename T>
  T take_number(T low, T high, const char* name) {
    const T value = take<T>();
    if (!(value >= low && value <= high)) {
      refuse("has " + std::to_string(value) + " for " + name);
    }
    return value;
  }
  /// A rank of the world, which has to be on the sender's machine.
  int take_rank_of_sender(const std::vector<int>& machine_of) {
    const int rank = take_number(0, static_cast<int>(machine_of.size()) - 1, "a rank");
    if (machine_of[rank] != from_) {
      refuse("speaks for rank " + std::to_string(rank) + " of another machine");
    }
    return rank;
  }
  std::span<const std::byte> rest() const { return bytes_; }
  void expect_end() const {
    if (!bytes_.empty()) refuse("is longer than it should be");
  }

  [[noreturn]] void refuse(const std::string& why) const { throw BadMessage(from_, why); }

 private:
  template <typename T>
  T take_bits() {
    if (bytes_.size() < sizeof(T)) refuse("ends too early");
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }

  std::span<const std::byte> bytes_;
  int from_;
};

}  // namespace syncopate::fabric

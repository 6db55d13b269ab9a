// What a fuzzer expects of a reader: it takes its input, or refuses it with a whole Error.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "syncopate/error.h"

namespace syncopate {

/// Ends the program, which is how a fuzzer is told of a mistake.
[[noreturn]] inline void broken(const char* promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Calls a reader, and returns whether it took its input. Whatever it throws other than an Error
/// ends the program, and so does an Error that does not say what is wrong and what to do, or that
/// would confuse a terminal.
template <typename Reader>
bool taken(const Reader& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.what_happened().empty() || error.what_to_do().empty())
      broken("an error says what to do");
    for (const char c : std::string_view(error.what())) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7f) broken("an error is free of control characters");
    }
    return false;
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace syncopate

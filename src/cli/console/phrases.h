// Words that go with numbers.
#pragma once

#include <fmt/format.h>

#include <string>

namespace syncopate::cli {

/// "1 core", "2 cores".
inline std::string counted(std::size_t number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace syncopate::cli

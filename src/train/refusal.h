// How training refuses what a user gave: with a sentence on what is wrong and one on what to do.
#pragma once

#include <string>
#include <string_view>

#include "syncopate/error.h"

namespace syncopate::train {

[[noreturn]] inline void refuse(const std::string& what_is_wrong, const std::string& what_to_do) {
  throw Error(ErrorCode::invalid_argument, what_is_wrong, what_to_do);
}

inline std::string in_quotes(std::string_view text) {
  return std::string("\"").append(text) + "\"";
}

}  // namespace syncopate::train

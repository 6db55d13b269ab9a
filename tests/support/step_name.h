// The steps of the protocol by name.
#pragma once

#include <array>
#include <cstddef>

#include "board/step.h"

namespace syncopate::testing {

inline const char* to_string(board::Step step) {
  constexpr std::array kNames = {"read",   "write", "replace", "deposit", "merge",   "start",
                                 "decide", "claim", "reduce",  "done",    "publish", "advance",
                                 "wake",   "park",  "release", "retry",   "join",    "agree"};
  static_assert(kNames.size() == static_cast<std::size_t>(board::Step::agree) + 1);
  return kNames[static_cast<std::size_t>(step)];
}

}  // namespace syncopate::testing

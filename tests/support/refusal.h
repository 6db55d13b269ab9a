// Expects an Error with a code and with certain words in it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "syncopate/error.h"

namespace syncopate::testing {

template <typename Call>
void expect_refused(ErrorCode code, const std::vector<std::string>& words, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << to_string(error.code()) << ": " << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "\"" << word << "\" is not in: " << error.what();
    }
    EXPECT_FALSE(error.what_to_do().empty());
    return;
  }
  ADD_FAILURE() << "nothing was thrown where " << to_string(code) << " was due";
}

}  // namespace syncopate::testing

// A check that fails says what it guards and ends the process. Built with steps: checks are on.
#include "base/check.h"

#include <gtest/gtest.h>

namespace syncopate {
namespace {

TEST(CheckDeathTest, SaysWhereWhatAndWhichInvariant) {
  const int slots = 3;
  EXPECT_DEATH(SYNCOPATE_CHECK(slots == 4, "memory.h 1"),
               "check_test\\.cpp:[0-9]+: check failed: slots == 4 \\(memory\\.h 1\\)");
}

TEST(Check, IsSilentWhereItHolds) {
  int asked = 0;
  const auto ask = [&] { return ++asked; };
  SYNCOPATE_CHECK(ask() == 1, "");
  EXPECT_EQ(asked, 1) << "asked once";
}

}  // namespace
}  // namespace syncopate

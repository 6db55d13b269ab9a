// In an optimized build, as users get it, a check costs nothing: its condition is not evaluated.
#include <gtest/gtest.h>

#include "base/check.h"

namespace syncopate {
namespace {

TEST(FreeCheck, IsEvaluatedOnlyWhereChecksAreOn) {
  int asked = 0;
  const auto ask = [&] {
    ++asked;
    return true;
  };
  SYNCOPATE_CHECK(ask(), "");
  EXPECT_EQ(asked, kChecks ? 1 : 0);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__has_feature)
  EXPECT_FALSE(kChecks) << "users pay for it";
#endif
}

}  // namespace
}  // namespace syncopate

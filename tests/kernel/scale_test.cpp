// The room that a sum needs: a power of two that is as large as the number of its terms.
#include "kernel/scale.h"

#include <gtest/gtest.h>

namespace syncopate::board {
namespace {

TEST(Headroom, IsAPowerOfTwoForTypesThatMayOverflow) {
  EXPECT_EQ(headroom_for(DataType::float16, 1), 1);
  EXPECT_EQ(headroom_for(DataType::float16, 2), 2);
  EXPECT_EQ(headroom_for(DataType::float16, 5), 8);
  EXPECT_EQ(headroom_for(DataType::float16, 0.3), 0.5) << "weights may be small";
}

TEST(Headroom, IsNoneWhereTheRangeIsThatOfFloat32) {
  for (const DataType type : {DataType::bfloat16, DataType::float32, DataType::float64}) {
    EXPECT_EQ(headroom_for(type, 5), 1);
  }
}

TEST(Headroom, IsNoneForNothing) { EXPECT_EQ(headroom_for(DataType::float16, 0), 1); }

}  // namespace
}  // namespace syncopate::board

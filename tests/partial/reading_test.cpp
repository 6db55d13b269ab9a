// A round is handed out until it is passed, and the last one ends it all.
#include "partial/reading.h"

#include <gtest/gtest.h>

namespace syncopate::partial {
namespace {

TEST(Reading, HandsOutAgainWhatIsNotPassed) {
  Reading reading(4);
  EXPECT_EQ(reading.next(), 5U);
  EXPECT_EQ(reading.deliver(7), 3U);
  reading.pass(5);
  reading.begin();
  EXPECT_EQ(reading.next(), 6U);
  EXPECT_EQ(reading.deliver(7), 2U);
}

TEST(Reading, HandsOutARoundThatIsSettledThoughNotPublished) {
  Reading reading(4);
  EXPECT_EQ(reading.deliver(4), 1U);
  EXPECT_EQ(reading.delivered(), 5U);
}

TEST(Reading, PassesWhatWasReadUnlessItWasNotUsed) {
  Reading reading(0);
  reading.deliver(2);
  reading.read(1);
  EXPECT_TRUE(reading.reads(1));
  EXPECT_EQ(reading.to_pass(), 1U);
  reading.stop_reading();
  EXPECT_FALSE(reading.reads(1));
  EXPECT_EQ(reading.to_pass(), 0U);
  reading.pass(1);
  reading.read(1);
  EXPECT_EQ(reading.to_pass(), 0U) << "it is passed already";
}

TEST(Reading, IsFinishedWhenTheLastRoundIsReadOrPassed) {
  Reading reading(0);
  reading.deliver(3);
  EXPECT_FALSE(reading.finished());
  reading.deliver_last();
  reading.pass(2);
  EXPECT_FALSE(reading.finished());
  reading.read(3);
  EXPECT_TRUE(reading.finished());
}

}  // namespace
}  // namespace syncopate::partial

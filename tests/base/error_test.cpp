#include "syncopate/error.h"

#include <gtest/gtest.h>

#include <string>

namespace syncopate {
namespace {

std::string told(const std::string& quoted) {
  return Error(ErrorCode::environment, quoted, "Look").what_happened();
}

TEST(Errors, QuotesAreHarmlessOnATerminal) {
  EXPECT_EQ(told("\x1b]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(told("two\nlines\r"), "two\\x0alines\\x0d");
  EXPECT_EQ(told(std::string("nul\0l", 5)), "nul\\x00l");
  EXPECT_EQ(told("\x7f"), "\\x7f");
  EXPECT_EQ(told("\xc2\x9b"
                 "31m"),
            "\\xc2\\x9b31m")
      << "control characters above ASCII";
}

TEST(Errors, TextOfAllLanguagesStays) {
  EXPECT_EQ(told("naïve 日本 🙂 µs"), "naïve 日本 🙂 µs");
}

TEST(Errors, WhatIsNoTextIsSpeltOut) {
  EXPECT_EQ(told("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(told("\xc0\xaf"), "\\xc0\\xaf") << "longer than it need be";
  EXPECT_EQ(told("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(told("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(told("cut \xe6\x97"), "cut \\xe6\\x97");
}

TEST(Errors, EndlessQuotesAreCut) {
  const std::string text = told(std::string(1 << 20, 'x'));
  EXPECT_LT(text.size(), 5000U);
  EXPECT_TRUE(text.ends_with("…"));
}

TEST(Errors, TheWholeTextIsHarmlessToo) {
  const Error error(ErrorCode::timeout, "a\x1b", "b\x1b");
  EXPECT_STREQ(error.what(), "a\\x1b. b\\x1b.");
  EXPECT_EQ(error.what_to_do(), "b\\x1b");
}

}  // namespace
}  // namespace syncopate

// Imbalances as text: what is written can be read back, and what is wrong is refused with what
// is allowed.
#include "train/imbalance.h"

#include <gtest/gtest.h>

#include <string>

#include "syncopate/error.h"

namespace syncopate::train {
namespace {

using namespace std::chrono_literals;

void expect_refused(const std::string& text, const std::string& sentences) {
  try {
    Imbalance::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.what(), sentences);
    return;
  }
  ADD_FAILURE() << "\"" << text << "\" was accepted";
}

TEST(Imbalance, CanBeWrittenByHand) {
  const auto expect = [](const char* text, const Imbalance& imbalance) {
    EXPECT_EQ(Imbalance::parse(text), imbalance) << text;
  };
  expect("none", {});
  expect("random:1x20ms", {Imbalance::Random{.ranks = 1, .delay = 20ms}});
  expect("random:4x0.5s", {Imbalance::Random{.ranks = 4, .delay = 500ms}});
  expect("shift:5..40ms", {Imbalance::Shift{.least = 5ms, .most = 40ms}});
  expect("shift:0.5..1.5ms", {Imbalance::Shift{.least = 500us, .most = 1500us}});
  expect("shift:500us..1s", {Imbalance::Shift{.least = 500us, .most = 1s}});
  expect("shift:5..5ms", {Imbalance::Shift{.least = 5ms, .most = 5ms}});
  expect("persistent:0*8", {Imbalance::Persistent{{{.rank = 0, .factor = 8}}}});
  expect("persistent:3*1.5+0*2",
         {Imbalance::Persistent{{{.rank = 3, .factor = 1.5}, {.rank = 0, .factor = 2}}}});
  expect("lognormal:10ms,0.8", {Imbalance::Lognormal{.median = 10ms, .sigma = 0.8}});
  expect("trace:a/b:c.txt", {Imbalance::Trace{.file = "a/b:c.txt"}});
}

TEST(Imbalance, IsReadAsItIsWritten) {
  for (const char* text :
       {"none", "random:1x20ms", "random:7x1ns", "shift:5..40ms", "shift:0..1500us", "shift:0..0s",
        "persistent:0*8", "persistent:0*8+1*2.25+12*1000000", "lognormal:10ms,0.8",
        "lognormal:1s,0", "trace:times.txt"}) {
    EXPECT_EQ(to_string(Imbalance::parse(text)), text);
  }
  for (const char* text : {"random:2x0.1234567s", "shift:1ns..1s", "persistent:1*100000",
                           "persistent:1*1.1000000000000001", "lognormal:0.0001ms,1e-7"}) {
    const Imbalance imbalance = Imbalance::parse(text);
    EXPECT_EQ(Imbalance::parse(to_string(imbalance)), imbalance) << to_string(imbalance);
  }
}

TEST(Imbalance, ThatDoesNotExistIsRefusedWithTheFormsThatDo) {
  for (const std::string text : {"", "None", "none:", "random", "rnd:1x20ms", " none"}) {
    expect_refused(text, "\"" + text +
                             "\" is not an imbalance. Use none, random:KxTIME, shift:MIN..MAX, "
                             "persistent:RANK*FACTOR, lognormal:MEDIAN,SIGMA or trace:FILE.");
  }
}

TEST(Imbalance, WithAPartMissingIsRefusedWithAnExample) {
  expect_refused("random:20ms",
                 "The imbalance \"random:20ms\" lacks a \"x\". Write it as random:KxTIME, such as "
                 "random:1x20ms.");
  expect_refused("shift:40ms",
                 "The imbalance \"shift:40ms\" lacks a \"..\". Write it as shift:MIN..MAX, such "
                 "as shift:5..40ms.");
  expect_refused("persistent:0*8+",
                 "The imbalance \"persistent:0*8+\" lacks a \"*\". Write it as "
                 "persistent:RANK*FACTOR, such as persistent:0*8+1*2.");
  expect_refused("lognormal:10ms",
                 "The imbalance \"lognormal:10ms\" lacks a \",\". Write it as "
                 "lognormal:MEDIAN,SIGMA, such as lognormal:10ms,0.8.");
  expect_refused("trace:", "The imbalance \"trace:\" names no file. Write it as trace:FILE.");
}

TEST(Imbalance, WithADurationThatIsNoneIsRefused) {
  const auto expect = [](const std::string& text, const std::string& part) {
    expect_refused(text, "In the imbalance \"" + text + "\", \"" + part +
                             "\" is not a duration. Use a number that is not negative with its "
                             "unit, such as 20ms or 500us.");
  };
  expect("random:1x20", "20");
  expect("random:1x-20ms", "-20ms");
  expect("random:1x", "");
  expect("random:1x20ms/none", "20ms/none");
  expect("shift:5..40", "40");
  expect("shift:-5..40ms", "-5ms");
  expect("shift:5m..1s", "5m");
  expect("lognormal:10,0.8", "10");
}

TEST(Imbalance, OutOfRangeIsRefusedWithTheRange) {
  expect_refused("random:0x20ms",
                 "In the imbalance \"random:0x20ms\", \"0\" is not a number of ranks. Use a whole "
                 "number from 1 to the number of ranks.");
  expect_refused("random:1.5x20ms",
                 "In the imbalance \"random:1.5x20ms\", \"1.5\" is not a number of ranks. Use a "
                 "whole number from 1 to the number of ranks.");
  expect_refused("shift:40..5ms",
                 "In the imbalance \"shift:40..5ms\", the first delay is longer than the second. "
                 "Write the shorter one first, such as shift:5..40ms.");
  expect_refused("persistent:-1*8",
                 "In the imbalance \"persistent:-1*8\", \"-1\" is not a rank. Use a whole number "
                 "from 0.");
  expect_refused("persistent:0*0.5",
                 "In the imbalance \"persistent:0*0.5\", \"0.5\" is not a factor. Use a number "
                 "from 1 to 1000000.");
  expect_refused("persistent:0*nan",
                 "In the imbalance \"persistent:0*nan\", \"nan\" is not a factor. Use a number "
                 "from 1 to 1000000.");
  expect_refused("persistent:0*8+0*2",
                 "In the imbalance \"persistent:0*8+0*2\", rank 0 comes twice. Name each rank "
                 "once.");
  expect_refused("lognormal:10ms,-1",
                 "In the imbalance \"lognormal:10ms,-1\", \"-1\" is not a sigma. Use a number "
                 "from 0 to 10.");
}

}  // namespace
}  // namespace syncopate::train

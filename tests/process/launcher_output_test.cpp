// What becomes of the output of the ranks of `syncopate run`.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>

#include "process/launcher_script.h"
#include "process/program.h"

namespace syncopate::testing {
namespace {

TEST(LauncherOutput, EveryLineCarriesItsRankAlignedInWidth) {
  Program program(script({"-n", "11"}, "echo out; echo err >&2"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.lines().size(), 11u);
  EXPECT_EQ(program.lines("[ 3] "), Strings{"out"});
  EXPECT_EQ(program.lines("[10] "), Strings{"out"});
  EXPECT_TRUE(has(program.err(), "[ 3] err\n")) << program.err();
  EXPECT_FALSE(has(program.out(), "err"));
}

TEST(LauncherOutput, LinesOfDifferentRanksNeverMix) {
  Program program(script({"-n", "4"}, "yes abcdefghijklmnopqrstuvwxyz | head -n 20000"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.lines().size(), 80000u);
  for (const char* prefix : {"[0] ", "[1] ", "[2] ", "[3] "}) {
    const auto lines = program.lines(prefix);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "abcdefghijklmnopqrstuvwxyz"), 20000);
  }
}

TEST(LauncherOutput, ALastLineWithoutAnEndIsWritten) {
  Program program(script({"-n", "1"}, "printf 'first\\ntail'"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "[0] first\n[0] tail\n");
}

TEST(LauncherOutput, AnEndlessLineIsCutAndNothingOfItIsLost) {
  Program program(script({"-n", "2"}, "head -c 1000000 /dev/zero | tr '\\0' x"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(std::count(program.out().begin(), program.out().end(), 'x'), 2000000);
  for (const auto& line : program.lines()) {
    EXPECT_TRUE(line.starts_with("[0] ") || line.starts_with("[1] "));
    EXPECT_LE(line.size(), 65536u + 4);
  }
}

TEST(LauncherOutput, WithoutPrefixItPassesUntouched) {
  Program program(script({"-n", "1", "--no-prefix"}, "printf 'a\\nb'; printf c >&2"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "a\nb");
  EXPECT_EQ(program.err(), "c");
}

TEST(LauncherOutput, AReaderThatGoesEndsTheJobQuietly) {
  Program program(cli({"-n", "2", "--", "yes"}));
  program.wait_for("y\n");
  program.close_output();
  EXPECT_EQ(program.wait(), 128 + SIGPIPE);
  EXPECT_EQ(program.err(), "");
}

TEST(LauncherOutput, AReaderThatIsStuckDoesNotKeepSignalsOut) {
  Program program(cli({"-n", "2", "--", "yes"}));
  program.wait_for("y\n");
  // From here on nothing is read. The first signal ends the ranks, a later one the writing.
  for (int tries = 0; tries < 2000 && !program.ended(); ++tries) {
    program.send(SIGTERM);
    ::poll(nullptr, 0, 10);
  }
  EXPECT_TRUE(program.ended());
  // A signal may also hit the launcher on its way out, when it no longer watches for them; a
  // shell reports 128 + SIGTERM for both.
  const int code = program.wait();
  EXPECT_TRUE(code == 128 + SIGTERM || code == -SIGTERM) << code;
}

}  // namespace
}  // namespace syncopate::testing

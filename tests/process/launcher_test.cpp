// What `syncopate run` promises about its ranks, seen from outside.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "process/launcher_script.h"
#include "process/program.h"

namespace syncopate::testing {
namespace {

/// The numbers after `word` on the lines of stdout.
std::vector<std::unique_ptr<Watched>> processes(const Program& program, const std::string& word) {
  std::vector<std::unique_ptr<Watched>> found;
  for (const auto& line : program.lines()) {
    const auto at = line.find(word);
    if (at == std::string::npos) continue;
    std::istringstream numbers(line.substr(at + word.size()));
    for (pid_t number = 0; numbers >> number;) found.push_back(std::make_unique<Watched>(number));
  }
  return found;
}

TEST(LauncherInput, RankZeroReadsItAndTheOthersReadNothing) {
  Program program(cli({"-n", "3", "--", "cat"}));
  program.write_input("hello\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "[0] hello\n");
}

TEST(LauncherEnvironment, EachRankFindsItsPlace) {
  Program program(script({"-n", "2", "--wait-timeout", "2.5"},
                         "test -e \"$SYNCOPATE_BOARD\" && "
                         "echo $SYNCOPATE_RANK of $SYNCOPATE_RANKS, $SYNCOPATE_TIMEOUT"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.lines("[0] "), Strings{"0 of 2, 2.5"});
  EXPECT_EQ(program.lines("[1] "), Strings{"1 of 2, 2.5"});
}

TEST(LauncherCommand, EverythingAfterTheMarkIsUntouched) {
  Program program(cli({"-n", "1", "--", "printf", "%s|", "--", "run", "--timeout", "", "-n"}));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "[0] --|run|--timeout||-n|\n");
}

TEST(LauncherCommand, OneThatIsNotThereIsCode127) {
  Program program(cli({"-n", "2", "--", "no-such-command-anywhere"}));
  EXPECT_EQ(program.wait(), 127);
  EXPECT_EQ(program.err(),
            "syncopate: there is no command 'no-such-command-anywhere'; check its name and PATH\n");
}

TEST(LauncherCommand, ItsNameDoesNothingOnATerminal) {
  Program job(cli({"-n", "1", "--", "\x1b[31mx"}));
  EXPECT_EQ(job.wait(), 127);
  EXPECT_NE(job.err().find("\\x1b[31mx"), std::string::npos) << job.err();
  EXPECT_EQ(job.err().find('\x1b'), std::string::npos);
}

TEST(LauncherCommand, OneThatCannotBeExecutedIsCode126) {
  Program program(cli({"-n", "2", "--", "/"}));
  EXPECT_EQ(program.wait(), 126);
  EXPECT_TRUE(has(program.err(), "'/' cannot be run: Permission denied")) << program.err();
}

TEST(LauncherFailure, TheFirstEndsTheRestAndGivesItsCode) {
  Program program(script({"-n", "4"}, "[ $SYNCOPATE_RANK = 2 ] && exit 7; exec sleep 1000"));
  EXPECT_EQ(program.wait(), 7);
  EXPECT_EQ(program.err(), "syncopate: rank 2 exited with code 7; the others are ended\n");
}

TEST(LauncherFailure, AKilledRankGives128PlusItsSignal) {
  Program program(script({"-n", "3"}, "[ $SYNCOPATE_RANK = 1 ] && kill -9 $$; exec sleep 1000"));
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_TRUE(has(program.err(), "rank 1 was killed by signal 9 (Killed)")) << program.err();
}

TEST(LauncherFailure, LastWordsComeBeforeTheVerdict) {
  Program program(script({"-n", "1"}, "printf 'out of luck' >&2; exit 3"));
  EXPECT_EQ(program.wait(), 3);
  EXPECT_EQ(program.err(), "[0] out of luck\nsyncopate: rank 0 exited with code 3\n");
}

TEST(LauncherSignals, ARankThatDoesNotListenIsKilled) {
  Program program(
      script({"-n", "1", "--kill-after", "0.2"}, "trap '' TERM; echo deaf $$; exec sleep 1000"));
  program.wait_for("deaf");
  const auto deaf = processes(program, "deaf");
  program.send(SIGTERM);
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
  EXPECT_TRUE(has(program.err(), "rank 0 did not end within 0.2 s and will be killed"));
  EXPECT_TRUE(deaf.at(0)->ends());
}

TEST(LauncherSurvive, TheOthersGoOnAndSuccessIsSuccess) {
  Program program(
      script({"-n", "3", "--survive"}, "[ $SYNCOPATE_RANK = 1 ] && exit 7; cat; echo finished"));
  program.wait_for("rank 1 exited with code 7");
  program.write_input("still here\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.lines("[0] "), (Strings{"still here", "finished"}));
  EXPECT_EQ(program.lines("[2] "), Strings{"finished"});
}

TEST(LauncherSurvive, WithNoSurvivorTheFirstFailureIsTheCode) {
  Program program(
      script({"-n", "2", "--survive"}, "[ $SYNCOPATE_RANK = 1 ] && exit 7; cat; exit 8"));
  program.wait_for("rank 1 exited with code 7; 1 of 2 ranks go on");
  EXPECT_EQ(program.wait(), 7);
  EXPECT_TRUE(has(program.err(), "rank 0 exited with code 8")) << program.err();
}

TEST(LauncherTimeout, EndsTheJobWith124AndNamesWhoWasRunning) {
  Program program(cli({"-n", "3", "--timeout", "0.2", "--", "sleep", "1000"}));
  EXPECT_EQ(program.wait(), 124);
  EXPECT_TRUE(has(program.err(), "did not end within 0.2 s; still running: ranks 0, 1 and 2"))
      << program.err();
}

class LauncherSignal : public ::testing::TestWithParam<int> {};

TEST_P(LauncherSignal, IsPassedOnToEveryRankAndIsTheCode) {
  Program program(script({"-n", "3"},
                         "trap 'echo told; exit 0' INT TERM HUP QUIT; echo ready; "
                         "while :; do sleep 0.05; done"));
  program.wait_for("ready", 3);
  program.send(GetParam());
  EXPECT_EQ(program.wait(), 128 + GetParam());
  EXPECT_EQ(program.lines("[0] "), (Strings{"ready", "told"}));
  EXPECT_EQ(program.lines("[2] "), (Strings{"ready", "told"}));
}

INSTANTIATE_TEST_SUITE_P(All, LauncherSignal, ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST(LauncherSignals, UserSignalsArePassedOnAndEndNothing) {
  Program program(script({"-n", "2"},
                         "trap 'echo told; exit 0' USR1; echo ready; "
                         "while :; do sleep 0.05; done"));
  program.wait_for("ready", 2);
  program.send(SIGUSR1);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.lines("[1] "), (Strings{"ready", "told"}));
}

TEST(LauncherSignals, ASecondInterruptKillsAtOnce) {
  Program program(script({"-n", "2", "--kill-after", "1000"},
                         "trap 'echo heard' INT; echo ready; while :; do sleep 0.05; done"));
  program.wait_for("ready", 2);
  program.send(SIGINT);
  program.wait_for("heard", 2);
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 128 + SIGINT);
}

TEST(LauncherSignals, OneThatWasIgnoredFromTheStartStaysIgnored) {
  Program program({"sh", "-c", "trap '' HUP; exec \"$0\" run -n 1 -- sh -c 'echo ready; cat'",
                   SYNCOPATE_CLI_PATH});
  program.wait_for("ready");
  program.send(SIGHUP);
  program.write_input("unmoved\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.lines("[0] "), (Strings{"ready", "unmoved"}));
}

TEST(LauncherLeavesNothing, WhatARankStartedInTheBackgroundIsEnded) {
  Program program(script({"-n", "2"}, "sleep 1000 & echo child $!"));
  program.wait_for("child", 2);
  const auto children = processes(program, "child");
  EXPECT_EQ(program.wait(), 0);
  for (const auto& child : children) EXPECT_TRUE(child->ends());
}

TEST(LauncherLeavesNothing, NotEvenADaemonInItsOwnSession) {
  Program program(
      script({"-n", "1"}, "setsid sh -c 'sleep 1000 & echo child $$ $!; wait' & read x"));
  program.wait_for("child");
  const auto children = processes(program, "child");
  program.wait();
  for (const auto& child : children) EXPECT_TRUE(child->ends());
}

TEST(LauncherLeavesNothing, ABackgroundWriterMayFinishItsLastLines) {
  Program program(script({"-n", "1"}, "(echo one; echo two) | cat & exit 0"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "[0] one\n[0] two\n");
}

TEST(LauncherLeavesNothing, WhenTheLauncherItselfIsKilled) {
  Program program(script({"-n", "3"}, "sleep 1000 & echo pids $$ $!; wait"));
  program.wait_for("pids", 3);
  const auto left = processes(program, "pids");
  ASSERT_EQ(left.size(), 6u);
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  for (const auto& process : left) EXPECT_TRUE(process->ends());
}

/// A daemon as it should be: no parent that lives, a session of its own, and none of our variables.
constexpr const char* kDaemon =
    "(setsid env -i sh -c 'sleep 1000 & echo pids $$ $!; wait' <&- &); echo pids $$; ";

TEST(LauncherLeavesNothing, NotEvenADaemonWhenTheLauncherItselfIsKilled) {
  Program program(script({"-n", "2"}, std::string(kDaemon) + "exec sleep 1000"));
  program.wait_for("pids", 4);
  const auto left = processes(program, "pids");
  ASSERT_EQ(left.size(), 6u);
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  for (const auto& process : left) EXPECT_TRUE(process->ends());
}

TEST(LauncherLeavesNothing, WhenTheProcessThatLooksAfterTheRanksIsKilled) {
  Program program(script(
      {"-n", "2"},
      std::string(kDaemon) + "[ $SYNCOPATE_RANK = 0 ] && { read x; kill -9 $PPID; }; sleep 1000"));
  program.wait_for("pids", 4);
  const auto left = processes(program, "pids");
  ASSERT_EQ(left.size(), 6u);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_EQ(program.err(),
            "syncopate: the process that looks after the ranks was killed by signal 9 (Killed); "
            "they and what they had started are ended\n");
  for (const auto& process : left) EXPECT_TRUE(process->ends());
}

TEST(LauncherLeavesNothing, EvenWhereNoneReadsTheOutputOfAKilledLauncher) {
  Program program(script({"-n", "1"}, "echo pids $$ $PPID; exec yes"));
  program.wait_for("pids");
  const auto left = processes(program, "pids");
  ASSERT_EQ(left.size(), 2u);
  program.send(SIGKILL);
  for (const auto& process : left) EXPECT_TRUE(process->ends());
}

TEST(LauncherLeavesNothing, ButTheChildrenItWasGivenAreSpared) {
  Program program({"sh", "-c", "sh -c 'read x; echo spared' <&0 & exec \"$0\" run -n 1 -- true",
                   SYNCOPATE_CLI_PATH});
  program.write_input("go on\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "spared\n");
}

/// `syncopate run` with files of at most `blocks` of 512 bytes, as `ulimit -f` counts in sh.
Strings limited(const std::string& blocks, const std::string& command) {
  return {"sh", "-c", "ulimit -f " + blocks + " && exec \"$0\" " + command, SYNCOPATE_CLI_PATH};
}

TEST(LauncherLimits, TheBoardFitsUnderALimitOnFileSizes) {
  Program program(limited("32768", "run -n 4 --timeout 60 -- " SYNCOPATE_LOOP_PATH));
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_TRUE(has(program.out(), "rank 3 of 4: mean error 0.0")) << program.out();
}

TEST(LauncherLimits, ALimitThatIsTooSmallForTheBoardIsNamed) {
  Program program(limited("1", "run -n 2 -- true"));
  EXPECT_EQ(program.wait(), 1);
  EXPECT_TRUE(has(program.err(),
                  "the board may have 0 MiB by the limit on file sizes, and now "
                  "needs 1 MiB. Lift that limit (ulimit -f)"))
      << program.err();
}

TEST(LauncherLimits, ALimitThatIsTooSmallForTheRanksReachesThemAsAnError) {
  Program program(limited("4096", "run -n 4 --timeout 60 -- " SYNCOPATE_LOOP_PATH));
  EXPECT_GT(program.wait(), 0);
  EXPECT_TRUE(has(program.err(), "the board may have 2 MiB by the limit on file sizes"))
      << program.err();
}

TEST(LauncherLimits, OutputThatOutgrowsTheLimitEndsTheJobWithASentence) {
  const std::string file = ::testing::TempDir() + "/launcher_limits_output";
  Program program(limited("8192", "run -n 1 -- sh -c 'trap \"\" XFSZ; exec yes' > " + file));
  EXPECT_EQ(program.wait(), 1);
  EXPECT_TRUE(has(program.err(), "the output cannot be written: File too large")) << program.err();
  ::unlink(file.c_str());
}

struct Mistake {
  Strings arguments;
  std::string sentence;
};

TEST(LauncherBadInput, IsRefusedInOneSentenceBeforeAnythingStarts) {
  const std::vector<Mistake> mistakes{
      {{"-n", "0", "--", "echo"}, "-n must be a whole number from 1 to 1024, not '0'"},
      {{"-n", "-3", "--", "echo"}, "-n must be a whole number from 1 to 1024, not '-3'"},
      {{"-n", "1025", "--", "echo"}, "-n must be a whole number from 1 to 1024, not '1025'"},
      {{"-n", "two", "--", "echo"}, "-n must be a whole number from 1 to 1024, not 'two'"},
      {{"--", "echo"}, "-n is missing"},
      {{"-n", "2"}, "there is no command to start"},
      {{"-n", "2", "--"}, "there is no command to start"},
      {{"-n", "2", "echo"}, "the command must stand after --"},
      {{"-n", "2", "--wrong", "--", "echo"}, "there is no option '--wrong'"},
      {{"-n", "2", "--timeout", "0", "--", "echo"}, "--timeout must be a number of seconds"},
      {{"-n", "2", "--timeout", "soon", "--", "echo"}, "--timeout must be a number of seconds"},
      {{"-n", "2", "--wait-timeout", "-1", "--", "echo"}, "--wait-timeout must be a number"},
      {{"-n", "2", "--kill-after", "nan", "--", "echo"}, "--kill-after must be a number"},
      {{"-n", "", "--", "echo"}, "-n must be a whole number from 1 to 1024, not ''"},
      {{"-n", "99999999999999999999", "--", "echo"}, "-n must be a whole number from 1 to 1024"},
      {{"-n", "2", "--timeout", "inf", "--", "echo"}, "--timeout must be a number of seconds"},
      {{"-n", "2", "--timeout", "\x1b[2J", "--", "echo"},
       "--timeout must be a number of seconds "
       "above 0 and at most 1000000000, not "
       "'\\x1b[2J'"},
  };
  for (const auto& mistake : mistakes) {
    Program program(cli(mistake.arguments));
    EXPECT_EQ(program.wait(), 2) << mistake.sentence;
    EXPECT_TRUE(program.err().starts_with("syncopate: " + mistake.sentence)) << program.err();
    EXPECT_EQ(std::count(program.err().begin(), program.err().end(), '\n'), 1) << program.err();
    EXPECT_EQ(program.out(), "");
  }
}

}  // namespace
}  // namespace syncopate::testing

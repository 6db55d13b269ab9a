// What `syncopate bench` does not measure it refuses with one sentence, before anything starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "process/launcher_script.h"
#include "process/program.h"
#include "train/temporary_folder.h"

namespace syncopate::testing {
namespace {

constexpr int kWrongUsage = 2;

struct Case {
  const char* name;
  Strings arguments;
  const char* sentence;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class BenchRefusal : public ::testing::TestWithParam<Case> {};

TEST_P(BenchRefusal, IsOneSentence) {
  Strings command{SYNCOPATE_CLI_PATH, "bench"};
  command.insert(command.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  Program program(command);
  EXPECT_EQ(program.wait(), kWrongUsage);
  EXPECT_EQ(program.out(), "");
  EXPECT_TRUE(has(program.err(), GetParam().sentence)) << program.err();
  EXPECT_EQ(std::ranges::count(program.err(), '\n'), 1) << program.err();
}

TEST(BenchRefusal, OfAPeerThatIsAskedForAndNotThereIsOneSentenceToo) {
  Program program({"env", "SYNCOPATE_PEERS=/nowhere", SYNCOPATE_CLI_PATH, "bench", "allreduce",
                   "--against", "openmpi"});
  EXPECT_EQ(program.wait(), kWrongUsage);
  EXPECT_EQ(program.out(), "");
  EXPECT_TRUE(has(program.err(), "openmpi is not there")) << program.err();
}

TEST(BenchRefusal, OfAVariableThatMakesNoSenseIsOneSentenceToo) {
  Program program({"env", "SYNCOPATE_TIMEOUT=soon", SYNCOPATE_CLI_PATH, "bench", "allreduce"});
  EXPECT_EQ(program.wait(), kWrongUsage);
  EXPECT_EQ(program.out(), "");
  EXPECT_TRUE(has(program.err(), "SYNCOPATE_TIMEOUT is \"soon\"")) << program.err();
  Program help({"env", "SYNCOPATE_TIMEOUT=soon", SYNCOPATE_CLI_PATH, "bench", "--help"});
  EXPECT_EQ(help.wait(), 0) << help.err();
}

TEST(BenchRefusal, OfARelativeFolderOfPeersIsOneSentenceToo) {
  Program program({"env", "SYNCOPATE_PEERS=peers", SYNCOPATE_CLI_PATH, "bench", "allreduce",
                   "--against", "openmpi"});
  EXPECT_NE(program.wait(), 0);
  EXPECT_EQ(program.out(), "");
  EXPECT_TRUE(has(program.err(), "SYNCOPATE_PEERS is \"peers\"")) << program.err();
}

TEST(BenchPeers, ThatOthersCanChangeAreNotStarted) {
  const TemporaryFolder peers;
  const auto driver = peers.path() / "peer_gloo", ran = peers.path() / "ran";
  std::ofstream(driver) << "#!/bin/sh\n: > " << ran.string() << "\n";
  for (const bool shared : {false, true}) {
    std::filesystem::permissions(driver, std::filesystem::perms(shared ? 0757 : 0755));
    Program program({"env", "SYNCOPATE_PEERS=" + peers.path().string(), SYNCOPATE_CLI_PATH, "bench",
                     "allreduce", "-n", "1", "--bytes", "8", "--repeat", "1", "--against", "gloo"});
    program.wait();
    const std::string refusal =
        "as others can change it: all users can write to " + driver.string();
    EXPECT_EQ(has(program.err(), refusal), shared) << program.err();
    EXPECT_EQ(std::filesystem::exists(ran), !shared);
    std::filesystem::remove(ran);
  }
}

TEST(BenchPeers, NeedPyTorchAndNotAFolderOfThatNameInTheWorkingDirectory) {
  const TemporaryFolder peers, here;
  std::ofstream(peers.path() / "gloo_torch.py") << "";
  std::filesystem::create_directory(here.path() / "torch");
  std::ofstream(here.path() / "torch" / "__init__.py")
      << "open('" << (here.path() / "ran").string() << "', 'w')\n";
  Program program({"env", "-C", here.path().string(), "SYNCOPATE_PEERS=" + peers.path().string(),
                   SYNCOPATE_CLI_PATH, "bench", "allreduce", "-n", "1", "--bytes", "8", "--repeat",
                   "1", "--against", "gloo"});
  program.wait();
  EXPECT_FALSE(std::filesystem::exists(here.path() / "ran"));
}

TEST(BenchTimeout, IsOneSentenceOnWhatToDo) {
  Program program({SYNCOPATE_CLI_PATH, "bench", "allreduce", "-n", "2", "--against", "none",
                   "--bytes", "8", "--timeout", "0.001"});
  EXPECT_EQ(program.wait(), 1);
  EXPECT_TRUE(has(program.err(), "after 0.001 s, and was ended; give it more time (--timeout)"))
      << program.err();
  EXPECT_EQ(std::ranges::count(program.err(), '\n'), 1) << program.err();
}

INSTANTIATE_TEST_SUITE_P(
    Bench, BenchRefusal,
    ::testing::Values(
        Case{"NoBenchmark", {}, "allreduce, partial, group, tax, activation or idle"},
        Case{"UnknownBenchmark", {"speed"}, "not 'speed'"},
        Case{"UnknownOptions",
             {"allreduce", "--quickly", "--please"},
             "--quickly --please. 'syncopate bench allreduce --help'"},
        Case{"RanksEachWithoutFabric", {"allreduce", "--ranks-each", "2"}, "--fabric"},
        Case{"OneMachine", {"activation", "--machines", "1"}, "--machines"},
        Case{"MachinesThatAreNoNumber", {"activation", "--machines", "2,few"}, "--machines"},
        Case{"EmptyMachine", {"activation", "--ranks-each", "0"}, "--ranks-each"},
        Case{"NoArrivals", {"activation", "--iterations", "0"}, "--iterations"},
        Case{"UnknownFabric",
             {"activation", "--fabric", "smoke"},
             "--fabric must be openmpi, mpich, mpi or tcp, not 'smoke'"},
        Case{"PeerThatIsNoMpi", {"activation", "--against", "gloo"}, "not 'gloo'"},
        Case{"SizesThatDoNotFit", {"allreduce", "--bytes", "17179869184G"}, "up to 16G"},
        Case{"SizesThatAreTooLarge", {"allreduce", "--bytes", "8-17G"}, "up to 16G"},
        Case{"TerminalEscape", {"allreduce", "--bytes", "\x1b[2J"}, R"('\x1b[2J' is neither)"},
        Case{"TerminalEscapeInAName", {"\x1b[2J"}, R"(not '\x1b[2J')"},
        Case{"IdleAlone", {"idle", "-n", "1"}, "--ranks"},
        Case{"IdleForNoTime", {"idle", "--seconds", "0"}, "--seconds"},
        Case{"IdleOverUnknownFabric", {"idle", "--fabric", "smoke"}, "not 'smoke'"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace syncopate::testing

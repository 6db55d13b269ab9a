// A machine of `mpirun syncopate train` is killed: the job ends, says which machine it was, leaves
// no process behind, and goes on from its checkpoint with the ranks that are left.
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "train/under_mpirun.h"

namespace syncopate::testing {
namespace {

using Clock = std::chrono::steady_clock;
/// Far below the run's own end. Noticing takes the timeout, which is three seconds here.
constexpr auto kSoon = std::chrono::seconds(15);

class MachineLost : public UnderMpirun {
 protected:
  MachineLost() { setenv("SYNCOPATE_TIMEOUT", "3", 1); }
  ~MachineLost() override { unsetenv("SYNCOPATE_TIMEOUT"); }

  std::map<std::string, pid_t> ranks() const {
    return processes_by("OMPI_COMM_WORLD_RANK", folder_.path());
  }

  std::string train_and_kill(const Strings& victims, const Strings& options = {}) {
    return train_and_strike(victims, SIGKILL, options);
  }

  /// Trains on machines of rank 0, of 1 and 2, and of 3, strikes some of them after a checkpoint,
  /// and returns what was said.
  std::string train_and_strike(const Strings& victims, int signal, const Strings& options = {}) {
    const std::string every = std::to_string(kRoundsToCheckpoint * 4 * 4);
    Program program(with(4, "1,2",
                         training(folder_.path(), {"--until", "seconds:600", "--pace", "1ms",
                                                   "--checkpoint-every", every}),
                         options));
    await_checkpoint(folder_.path());
    const auto processes = ranks();
    EXPECT_EQ(processes.size(), 4U);
    const auto begin = Clock::now();
    for (const auto& victim : victims) ::kill(processes.at(victim), signal);
    program.wait();  // Whatever its code: with --enable-recovery mpirun is content.
    EXPECT_LT(Clock::now() - begin, kSoon);
    await([&] { return ranks().empty(); }, "the end of all ranks");
    EXPECT_FALSE(fs::exists(latest_ / "result.json"));
    return program.err();
  }

  /// The first and the last round that were written down.
  std::pair<int, int> rounds() const {
    std::set<int> numbers;
    std::istringstream lines(text_of(latest_ / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto metric = nlohmann::json::parse(line, nullptr, false);
      if (!metric.is_discarded()) numbers.insert(metric.at("round").get<int>());
    }
    if (numbers.empty()) throw std::runtime_error("no round was written down");
    return {*numbers.begin(), *numbers.rbegin()};
  }

  static constexpr int kRoundsToCheckpoint = 25;
  static constexpr const char* kAdvice =
      ". The last checkpoint is whole: go on under Open MPI's mpirun with: syncopate train "
      "--resume ";
};

std::vector<Mpi> open_mpi() {
  std::vector<Mpi> all = mpis();
  std::erase_if(all, [](const Mpi& mpi) { return mpi.name != "openmpi"; });
  return all;
}
// MPICH ends the job in any case.
INSTANTIATE_TEST_SUITE_P(TrainMpi, MachineLost, ::testing::ValuesIn(open_mpi()),
                         [](const auto& mpi) { return mpi.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MachineLost);

TEST_P(MachineLost, EveryRankNamesItAndTheRunGoesOnWithFewerRanks) {
  const std::string said = train_and_kill({"1", "2"}, {"--enable-recovery"});
  for (const int rank : {0, 3}) {
    const std::string who = "syncopate: rank " + std::to_string(rank) + ": ";
    const auto at = said.find(who);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_EQ(said.find(who, at + 1), std::string::npos) << "one sentence is enough: " << said;
    const std::string sentence = said.substr(at, said.find('\n', at) - at);
    EXPECT_TRUE(has(sentence, "#2 (ranks 1 and 2) has not answered")) << sentence;
    EXPECT_TRUE(has(sentence, kAdvice)) << sentence;
  }

  const int last = rounds().second;
  fs::remove(latest_ / "metrics.jsonl");
  const std::string until = "rounds:" + std::to_string(last + 5);
  const Ended ended = run(with(2, "1", command("train", {"--resume", latest_, "--until", until})));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const int first = rounds().first;
  EXPECT_EQ(first % kRoundsToCheckpoint, 1) << "right after a checkpoint";
  EXPECT_GT(first, kRoundsToCheckpoint);
  EXPECT_LE(first, last + 1);
  const auto result = json_of(latest_ / "result.json");
  EXPECT_EQ(result.at("rounds"), last + 5);
  EXPECT_EQ(result.at("samples"), (first - 1) * 4 * 4 + (last + 6 - first) * 2 * 4);
  EXPECT_EQ(saved_weights(latest_, 0), saved_weights(latest_, 1));
  EXPECT_FALSE(fs::exists(latest_ / "checkpoint" / "rank-2.safetensors"));
}

TEST_P(MachineLost, WithItsFirstRankHasTheSameAdviceOfEveryRank) {
  const std::string said = train_and_kill({"1"}, {"--enable-recovery"});
  std::set<std::string> advice;
  for (const int rank : {0, 2, 3}) {
    const auto at = said.find("syncopate: rank " + std::to_string(rank) + ": ");
    ASSERT_NE(at, std::string::npos) << said;
    const auto end = said.find('\n', at);
    const auto begin = said.find(kAdvice, at);
    ASSERT_LT(begin, end) << said;
    advice.insert(said.substr(begin, end - begin));
  }
  EXPECT_EQ(advice.size(), 1U) << said;
}

/// The rank of a machine that is not its first, and which is waited for in vain.
TEST_P(MachineLost, ARankOfItThatIsStoppedIsNamedWithTheAdviceToGoOn) {
  const std::string said = train_and_strike({"2"}, SIGSTOP);
  EXPECT_TRUE(has(said, "for rank 2")) << said;
  EXPECT_TRUE(has(said, "Look whether it is stopped or its machine too busy")) << said;
  EXPECT_TRUE(has(said, kAdvice)) << said;
  EXPECT_FALSE(has(said, "000 s")) << "a time as a person says it: " << said;
}

/// The rank of a machine that is not its first: the strategy goes on, and a comparison with fewer
/// ranks would be none.
TEST_P(MachineLost, ARankOfItIsNamedByACompareThatGoesOnWithout) {
  for (const bool survives : {true, false}) {
    const TemporaryFolder runs;
    Strings arguments{"-w",     "hyperplane", "-s",     "sync,eager-solo", "--batch",
                      "4",      "--rate",     "0.0001", "--until",         "seconds:4",
                      "--pace", "1ms",        "--runs", runs.path()};
    if (survives) arguments.emplace_back("--survive");
    Program program(with(3, "1,2", command("compare", arguments), {"--enable-recovery"}));
    const auto ranks = [&] { return processes_by("OMPI_COMM_WORLD_RANK", runs.path()); };
    const auto trains = [&] {
      for (const auto& run : fs::directory_iterator(runs.path())) {
        if (has(text_of(run.path() / "metrics.jsonl"), "round")) return true;
      }
      return false;
    };
    await(trains, "the first rounds");
    ::kill(ranks().at("2"), SIGKILL);
    program.wait();
    await([&] { return ranks().empty(); }, "the end of all ranks");
    const std::string said = program.err();
    if (survives) {
      EXPECT_TRUE(has(said, "in sync rank 2 died and the others went on; what follows")) << said;
      EXPECT_TRUE(has(program.out(), "Waiting for everyone, sync stood still")) << program.out();
    } else {
      EXPECT_TRUE(has(said, "sync did not come to its end: rank 2 died; what it wrote is in"))
          << said;
    }
    EXPECT_FALSE(has(program.out(), "\neager-solo")) << program.out();
  }
}

/// As most people call it, mpirun ends the others itself and says why.
TEST_P(MachineLost, WithItsFirstRankEndsTheJobUnderAPlainMpirun) {
  const std::string said = train_and_kill({"1"});
  EXPECT_TRUE(has(said, "rank 1") || has(said, "(ranks 1 and 2)")) << said;
}

}  // namespace
}  // namespace syncopate::testing

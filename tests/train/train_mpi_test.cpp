// `mpirun -n 4 syncopate train …`: one run of the ranks that mpirun started, on one machine that is
// split into several (SYNCOPATE_SPLIT), as if syncopate had started them itself.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

#include "syncopate/strategy.h"
#include "train/saved_weights.h"
#include "train/under_mpirun.h"

namespace syncopate::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(TrainMpi, UnderMpirun, ::testing::ValuesIn(mpis()),
                         [](const auto& mpi) { return mpi.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnderMpirun);

int directories_in(const fs::path& runs) {
  return int(std::count_if(fs::directory_iterator(runs), {}, [](const auto& entry) {
    return entry.is_directory() && !entry.is_symlink();
  }));
}

TEST_P(UnderMpirun, IsOneRunWithTheResultOfRanksOnOneBoard) {
  const Strings settings{"--until", "rounds:12", "--momentum", "0.9"};
  const TemporaryFolder alone;
  Strings more = settings;
  more.insert(more.end(), {"-n", "2"});
  ASSERT_EQ(run(training(alone.path(), more)).code, 0);

  const Ended ended = run(with(2, "1", training(folder_.path(), settings)));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(directories_in(folder_.path()), 1);
  EXPECT_TRUE(has(ended.out, fs::read_symlink(latest_).string())) << ended.out;
  EXPECT_TRUE(has(ended.out, "2 ranks on 2 machines x 4 samples")) << ended.out;
  EXPECT_EQ(std::ranges::count(ended.out, '\n'), 4) << "only one rank speaks: " << ended.out;
  EXPECT_EQ(json_of(latest_ / "config.json"), json_of(alone.path() / "latest" / "config.json"));
  EXPECT_EQ(json_of(latest_ / "result.json").at("samples"), 12 * 2 * 4);
  EXPECT_EQ(gradients_in(latest_, 2), (std::map<int, double>{{0, 24}, {1, 24}}));
  // A sum of two is the same in any order.
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(saved_weights(latest_, rank), saved_weights(alone.path() / "latest", rank));
  }
}

TEST_P(UnderMpirun, GoesOnWithAnotherNumberOfRanksAndLosesNothing) {
  const Strings eager{"-s",  "eager-solo:grace=off", "--until",       "rounds:30", "--pace",
                      "1ms", "--imbalance",          "persistent:1*3"};
  Ended ended = run(with(5, "2", training(folder_.path(), eager)));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const double before = json_of(latest_ / "result.json").at("samples");
  std::map<int, double> gradients = gradients_in(latest_, 5);
  ASSERT_EQ(gradients.size(), 5U);
  for (const auto& [rank, sum] : gradients) EXPECT_NEAR(4 * sum, before, 1e-3) << rank;
  for (int rank = 1; rank < 5; ++rank) {
    EXPECT_EQ(saved_weights(latest_, rank), saved_weights(latest_, 0));
  }

  fs::remove(latest_ / "metrics.jsonl");
  ended = run(with(3, "2", command("train", {"--resume", latest_, "--until", "rounds:60"})));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json_of(latest_ / "config.json").at("ranks"), 3);
  EXPECT_FALSE(fs::exists(latest_ / "checkpoint" / "rank-3.safetensors"));
  EXPECT_GE(json_of(latest_ / "result.json").at("rounds"), 60);
  gradients = gradients_in(latest_, 3);
  ASSERT_EQ(gradients.size(), 3U);
  // What the first part ended with was in its checkpoint as well, and so is in rounds of both.
  const double samples = json_of(latest_ / "result.json").at("samples");
  for (const auto& [rank, sum] : gradients) EXPECT_GE(4 * sum, samples - before - 1e-3) << rank;
}

/// All there are, separated by commas; what has to be given is 2.
std::string every_strategy() {
  std::string text;
  for (const StrategyDescription& strategy : strategies()) {
    text += (text.empty() ? "" : ",") + strategy.name;
    for (const auto& parameter : strategy.parameters)
      text += parameter.standard.empty() ? ":2" : "";
  }
  return text;
}

TEST_P(UnderMpirun, ComparesEveryStrategyOneAfterAnother) {
  const fs::path file = folder_.path() / "rows.jsonl";
  const Ended ended =
      run(with(3, "2",
               command("compare", {"-w", "hyperplane", "-s", every_strategy(), "--batch", "4",
                                   "--rate", "0.0001", "--until", "samples:120", "--runs",
                                   folder_.path(), "--json", file})));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto count = int(strategies().size());
  EXPECT_EQ(directories_in(folder_.path()), count);
  const std::string rows = text_of(file);
  EXPECT_EQ(std::ranges::count(rows, '\n'), count) << rows;
  EXPECT_TRUE(has(ended.out, "Waiting for everyone, sync stood still")) << ended.out;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    if (!entry.is_directory() || entry.is_symlink()) continue;
    const auto result = json_of(entry.path() / "result.json");
    EXPECT_GE(result.at("samples"), 120) << entry;
    EXPECT_TRUE(result.at("loss").is_number()) << entry;
    EXPECT_EQ(gradients_in(entry.path(), 3).size(), 3U) << entry << ": all ranks took part";
  }
}

TEST_P(UnderMpirun, ControlCLeavesACheckpointToGoOnFrom) {
  const Strings train = training(
      folder_.path(), {"-s", "eager-solo", "--until", "seconds:600", "--checkpoint-every", "400"});
  Program program(with(3, "2", train, GetParam().patient));
  await_checkpoint(folder_.path());
  program.send(SIGINT);
  const int code = program.wait();
  // MPICH's mpirun may lose what its ranks ended with once it is told to end itself.
  if (GetParam().name != "mpich") {
    EXPECT_NE(code, 0);
  }
  ASSERT_TRUE(fs::exists(latest_ / "result.json")) << program.err();
  const auto result = json_of(latest_ / "result.json");
  EXPECT_TRUE(result.at("interrupted"));
  EXPECT_TRUE(result.at("dead").empty());
  EXPECT_EQ(saved_weights(latest_, 0), saved_weights(latest_, 2));
  EXPECT_FALSE(fs::exists(latest_ / "checkpoint.new"));
}

TEST_P(UnderMpirun, RefusesWithCode2OnAllRanks) {
  const fs::path runs = folder_.path() / "runs";
  struct {
    const char* split;
    Strings options;
    std::string words;
  } const wrong[] = {{"1", {"-n", "3"}, "rank 0: -n is 3, and "},
                     {"1", {"-s", "fastest"}, "rank 0: there is no strategy 'fastest'"},
                     {"1", {"--no-such-option"}, "rank 1: "},
                     {"few", {}, "rank 1: SYNCOPATE_SPLIT is \"few\""}};
  for (const auto& [split, options, words] : wrong) {
    const Ended ended = run(with(2, split, training(runs, options)));
    EXPECT_EQ(ended.code, 2) << words;
    EXPECT_TRUE(has(ended.err, "syncopate: " + words)) << ended.err;
    EXPECT_FALSE(fs::exists(runs));
  }
}

/// While it lives, this process and those it starts have one core.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    int core = 0;
    while (!CPU_ISSET(core, &before_)) ++core;
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
};

TEST_P(UnderMpirun, HasAPaceWhereMachinesMadeOfOneHostShareItsCore) {
  const OneCore only;
  const Ended ended = run(with(2, "1", training(folder_.path(), {"--until", "rounds:3"})));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GT(json_of(latest_ / "config.json").at("pace_ms"), 0);
  EXPECT_TRUE(has(ended.out, "2 ranks on 1 core take")) << ended.out;
}

/// A rank that does not see what is at `place`, as on a machine of its own.
Strings blind_to(const fs::path& place, const Strings& command) {
  Strings all{"unshare", "-m", "sh", "-c", R"(mount -t tmpfs none "$0" && exec "$@")", place};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

TEST_P(UnderMpirun, ARankThatCannotBeginEndsAll) {
  if (run({"unshare", "-m", "true"}).code != 0) GTEST_SKIP() << "mounting is not permitted here";
  ASSERT_EQ(run(training(folder_.path(), {"-n", "3", "--until", "rounds:3"})).code, 0);
  const Strings resume = command("train", {"--resume", latest_, "--until", "rounds:6"});
  Strings all = with(2, "2", resume);
  all.insert(all.end(), {":", "-n", "1"});
  for (const auto& word : blind_to(latest_ / "checkpoint", resume)) all.push_back(word);
  const Ended ended = run(all);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "syncopate: rank 2: there is no part of a checkpoint")) << ended.err;
  EXPECT_FALSE(has(ended.err, "rank 0:")) << ended.err;
  EXPECT_FALSE(fs::exists(latest_ / "result.json")) << "no rank went on without it";
}

TEST_P(UnderMpirun, AMachineThatDoesNotSeeTheRunSaysSo) {
  if (run({"unshare", "-m", "true"}).code != 0) GTEST_SKIP() << "mounting is not permitted here";
  const Strings train = training(folder_.path(), {"--until", "rounds:3"});
  Strings all = with(1, "1", train);
  all.insert(all.end(), {":", "-n", "1"});
  for (const auto& word : blind_to(folder_.path(), train)) all.push_back(word);
  const Ended ended = run(all);
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "syncopate: rank 1: ")) << ended.err;
  EXPECT_TRUE(has(ended.err, "which rank 0 has made, is not there on this machine")) << ended.err;
}

}  // namespace
}  // namespace syncopate::testing

// `mpirun syncopate train` on three hosts (tests/fabric/hosts.sh) learns what it does on one board.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "train/under_mpirun.h"

namespace syncopate::testing {
namespace {

constexpr int kRanks = 6;
constexpr int kSkipped = 77;
/// Of float32, after a few sums.
constexpr double kLastBits = 1e-5;

class OnThreeHosts : public ::testing::Test {
 protected:
  void train(const std::string& mpi, const Strings& settings) {
    const auto known = mpis();
    if (std::ranges::find(known, mpi, &Mpi::name) == known.end())
      GTEST_SKIP() << "no such MPI here";
    const auto all = [&](const TemporaryFolder& runs, const Strings& more) {
      Strings options{"-w", "hyperplane", "--batch", "4", "--runs", runs.path()};
      options.insert(options.end(), settings.begin(), settings.end());
      options.insert(options.end(), more.begin(), more.end());
      return command("train", options);
    };
    // Each host would take the first of these cores for its first rank.
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    Strings hosts{SYNCOPATE_HOSTS, mpi, std::to_string(kRanks / 3)};
    for (const auto& word : all(hosts_folder_, {})) hosts.push_back(word);
    const Ended ended = run(hosts);
    if (ended.code == kSkipped) GTEST_SKIP() << ended.out;
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
    const Ended board = run(all(board_folder_, {"-n", std::to_string(kRanks)}));
    ASSERT_EQ(board.code, 0) << board.err;
  }

  /// Where all are waited for.
  void expect_the_result_of_one_board(int samples) const {
    EXPECT_EQ(json_of(hosts_ / "config.json"), json_of(board_ / "config.json"));
    const auto result = json_of(hosts_ / "result.json");
    const auto expected_result = json_of(board_ / "result.json");
    EXPECT_EQ(result.at("samples"), samples);
    EXPECT_EQ(result.at("samples"), expected_result.at("samples"));
    // A board adds in the order of ranks, and hosts add what each has added before: the sums differ
    // by their last bits. A gradient that is missing or counted twice is off by far more.
    const double loss = expected_result.at("loss");
    EXPECT_NEAR(result.at("loss"), loss, kLastBits * loss);
    const std::vector<float> expected = saved_weights(board_, 0);
    const std::vector<float> weights = saved_weights(hosts_, 0);
    ASSERT_EQ(weights.size(), expected.size());
    const float largest = std::abs(
        *std::ranges::max_element(expected, {}, [](float weight) { return std::abs(weight); }));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], expected[i], kLastBits * largest) << "weight " << i;
    }
    for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(saved_weights(hosts_, rank), weights);
  }

  const TemporaryFolder board_folder_, hosts_folder_;
  const fs::path board_ = board_folder_.path() / "latest";
  const fs::path hosts_ = hosts_folder_.path() / "latest";
};

const Strings kTwelveRounds{"--rate",     "0.0001", "--until", "rounds:12",
                            "--momentum", "0.9",    "--pace",  "off"};

TEST_F(OnThreeHosts, SyncHasTheResultOfOneBoard) {
  train("openmpi", kTwelveRounds);
  if (IsSkipped() || HasFatalFailure()) return;
  expect_the_result_of_one_board(12 * kRanks * 4);
}

TEST_F(OnThreeHosts, SyncHasTheResultOfOneBoardWithMpich) {
  train("mpich", kTwelveRounds);
  if (IsSkipped() || HasFatalFailure()) return;
  expect_the_result_of_one_board(12 * kRanks * 4);
}

TEST_F(OnThreeHosts, LocalStepsHaveTheResultOfOneBoard) {
  Strings settings = kTwelveRounds;
  settings.insert(settings.end(), {"--strategy", "local:3"});
  train("openmpi", settings);
  if (IsSkipped() || HasFatalFailure()) return;
  expect_the_result_of_one_board(12 * 3 * kRanks * 4);
}

TEST_F(OnThreeHosts, AnEagerStrategyComesAsFarWithAsManySamples) {
  constexpr double kSamples = 4800;
  train("openmpi", {"--rate", "0.001", "--strategy", "eager-majority", "--until", "samples:4800"});
  if (IsSkipped() || HasFatalFailure()) return;
  const auto result = json_of(hosts_ / "result.json");
  const double samples = result.at("samples");
  EXPECT_GE(samples, kSamples);
  EXPECT_LE(samples, 1.05 * kSamples) << "but for what was under way at the end";
  for (const auto& [rank, sum] : gradients_in(hosts_, kRanks)) {
    // Written down with six digits a round.
    EXPECT_NEAR(4 * sum, samples, 0.1) << "rank " << rank << " has seen every gradient once";
  }
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(saved_weights(hosts_, rank), saved_weights(hosts_, 0));
  }
  const double loss = json_of(board_ / "result.json").at("loss");
  EXPECT_NEAR(result.at("loss"), loss, 0.05 * loss);
}

}  // namespace
}  // namespace syncopate::testing

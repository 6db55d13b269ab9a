// Runs that end otherwise than planned: by Ctrl-C, by the death of a rank, by a full disk.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cmath>

#include "train/train_program.h"

namespace syncopate::testing {
namespace {

/// Goes on for five rounds with the run in `directory`, which must have a checkpoint to go on from.
void expect_to_go_on(const fs::path& directory) {
  const int before = json_of(directory / "result.json").at("rounds");
  const std::string until = "rounds:" + std::to_string(before + 5);
  const Ended ended = run(command("train", {"--resume", directory, "--until", until}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto result = json_of(directory / "result.json");
  // A relaxed strategy takes what was on its way in a round more.
  EXPECT_GE(result.at("rounds"), before + 5);
  EXPECT_LE(result.at("rounds"), before + 6);
  EXPECT_FALSE(result.at("interrupted"));
}

TEST(TrainEnds, ControlCLeavesACheckpointToGoOnFrom) {
  for (const char* strategy : {"sync", "eager-solo"}) {
    SCOPED_TRACE(strategy);
    const TemporaryFolder folder;
    Program program(training(folder.path(), {"-n", "2", "-s", strategy, "--until", "seconds:600",
                                             "--checkpoint-every", "400"}));
    await_checkpoint(folder.path());
    program.send(SIGINT);
    EXPECT_EQ(program.wait(), 130) << program.err();
    EXPECT_TRUE(has(program.out(), "go on with: syncopate train --resume")) << program.out();
    const fs::path latest = folder.path() / "latest";
    EXPECT_TRUE(json_of(latest / "result.json").at("interrupted"));
    EXPECT_EQ(saved_weights(latest, 0), saved_weights(latest, 1));
    expect_to_go_on(latest);
  }
}

TEST(TrainEnds, VotesToStopThatCameTooLateDoNotEndTheRunThatGoesOn) {
  const TemporaryFolder folder;
  const Ended ended =
      run(training(folder.path(), {"-n", "3", "-s", "eager-solo:grace=off", "--pace", "5ms",
                                   "--imbalance", "persistent:2*3", "--until", "seconds:1"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  expect_to_go_on(folder.path() / "latest");
}

TEST(TrainEnds, ARankThatIsKilledEndsAllWithACheckpointToGoOnFrom) {
  const TemporaryFolder folder;
  Program program(training(folder.path(), {"-n", "2", "-s", "eager-solo", "--until", "seconds:600",
                                           "--checkpoint-every", "400"}));
  await_checkpoint(folder.path());
  ::kill(process_of(folder.path(), 1), SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL) << program.err();
  EXPECT_TRUE(has(program.err(), "rank 1")) << program.err();
  const fs::path latest = folder.path() / "latest";
  EXPECT_EQ(json_of(latest / "result.json").at("dead"), nlohmann::json({1}));
  EXPECT_TRUE(fs::exists(latest / "checkpoint" / "rank-0.safetensors"));
  expect_to_go_on(latest);
}

TEST(TrainEnds, WithSurviveTheOthersFinishAndTheResultNamesTheDead) {
  for (const int victim : {0, 2}) {
    const TemporaryFolder folder;
    Program program(training(folder.path(), {"-n", "3", "--survive", "--pace", "5ms", "--until",
                                             "rounds:40", "--checkpoint-every", "24"}));
    await_checkpoint(folder.path());
    ::kill(process_of(folder.path(), victim), SIGKILL);
    EXPECT_EQ(program.wait(), 0) << program.err();
    const auto result = json_of(folder.path() / "latest" / "result.json");
    EXPECT_EQ(result.at("dead"), nlohmann::json({victim}));
    EXPECT_EQ(result.at("rounds"), 40);
    EXPECT_FALSE(result.at("interrupted"));
    EXPECT_TRUE(has(program.out(), "died on the way: rank " + std::to_string(victim)));
  }
}

/// A file system with room for one checkpoint of two ranks, and not for two.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& place) : place_(place) {
    mounted_ = ::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=120k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  fs::path place_;
  bool mounted_ = false;
};

TEST(TrainEnds, AFullDiskIsReportedAndTheOldCheckpointIsIntact) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path());
  if (!disk.mounted()) GTEST_SKIP() << "mounting is not permitted here";
  const Ended ended = run(training(folder.path(), {"-n", "2", "--no-metrics", "--until",
                                                   "rounds:1000", "--checkpoint-every", "40"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "No space left on device")) << ended.err;
  EXPECT_TRUE(has(ended.err, "the checkpoint before this one is unharmed")) << ended.err;
  const fs::path latest = folder.path() / "latest";
  EXPECT_EQ(saved_weights(latest, 0), saved_weights(latest, 1));
  EXPECT_FALSE(fs::exists(latest / "checkpoint.new"));
}

/// At a rate at which the loss is no number any more from round 12 on.
void expect_divergence(const fs::path& runs, Strings options) {
  options.insert(options.end(),
                 {"-w", "hyperplane", "--batch", "4", "-n", "2", "--rate", "1", "--runs", runs});
  const Ended ended = run(command("train", options));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "the run diverged")) << ended.err;
  EXPECT_TRUE(has(ended.err, "Try a --rate below 1")) << ended.err;
  EXPECT_TRUE(json_of(runs / "latest" / "result.json").at("diverged"));
}

TEST(TrainEnds, ARunThatDivergesSaysSoAndKeepsTheCheckpointBefore) {
  const TemporaryFolder folder;
  expect_divergence(folder.path(), {"--until", "rounds:10000", "--checkpoint-every", "8"});
  const fs::path latest = folder.path() / "latest";
  EXPECT_LT(json_of(latest / "result.json").at("rounds"), 100);
  EXPECT_EQ(saved_weights(latest, 0), saved_weights(latest, 1));
  for (const float weight : saved_weights(latest, 0)) ASSERT_TRUE(std::isfinite(weight));
}

TEST(TrainEnds, DivergingInTheLastRoundIsNoSuccess) {
  const TemporaryFolder folder;
  // The loss of round 11 is still a number; that of the weights after it is not.
  expect_divergence(folder.path(), {"--until", "rounds:11", "--evaluate-every", "0"});
}

TEST(TrainEnds, ARunThatExplodesIsNoSuccessWhileItsLossIsStillANumber) {
  const TemporaryFolder folder;
  // Each round multiplies the loss by about 2.5.
  const Ended ended = run(
      command("train", {"-w", "hyperplane", "--batch", "4", "-n", "2", "--rate", "0.02", "--until",
                        "rounds:20", "--runs", folder.path(), "--checkpoint-every", "8"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "the run diverged")) << ended.err;
  EXPECT_TRUE(has(ended.err, "its loss had grown to ")) << ended.err;
  EXPECT_TRUE(json_of(folder.path() / "latest" / "result.json").at("diverged"));
}

TEST(TrainEnds, HyperplaneLearnsAtItsOwnRateWithOneRank) {
  const TemporaryFolder folder;
  const Ended ended =
      run(command("train", {"-w", "hyperplane", "-n", "1", "--until", "rounds:60", "--pace", "off",
                            "--evaluate-every", "5120", "--runs", folder.path()}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "at rate 0.00625,")) << ended.out;
  const auto evaluations = json_of(folder.path() / "latest" / "result.json").at("evaluations");
  EXPECT_LT(evaluations.back().at("loss"), evaluations.front().at("loss"));
}

TEST(TrainEnds, SavedButKilledBeforeItsResultItStillComesToIt) {
  for (const char* until : {"rounds:6", "loss:1000"}) {
    SCOPED_TRACE(until);
    const TemporaryFolder folder;
    const Ended first =
        run(training(folder.path(), {"-n", "2", "--until", until, "--evaluate-every", "48"}));
    ASSERT_EQ(first.code, 0) << first.err;
    const fs::path latest = folder.path() / "latest";
    const std::string model = text_of(latest / "model.safetensors");
    const int rounds = json_of(latest / "result.json").at("rounds");
    fs::remove(latest / "model.safetensors");
    fs::remove(latest / "result.json");
    const Ended second = run(command("train", {"--resume", latest}));
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(text_of(latest / "model.safetensors") == model, true);
    EXPECT_EQ(json_of(latest / "result.json").at("rounds"), rounds);
    EXPECT_EQ(run(command("train", {"--resume", latest})).code, 2) << "now it is complete";
  }
}

TEST(TrainEnds, ControlCEndsALongPhaseOfLocalSteps) {
  const TemporaryFolder folder;
  Program program(training(
      folder.path(), {"-n", "2", "-s", "local:100000", "--until", "seconds:600", "--pace", "2ms"}));
  await([&] { return processes_by("SYNCOPATE_RANK", folder.path()).size() == 2; }, "ranks");
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto told = std::chrono::steady_clock::now();
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 128 + SIGINT) << program.err();
  EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(15));
  EXPECT_EQ(saved_weights(folder.path() / "latest", 0), saved_weights(folder.path() / "latest", 1))
      << "they met before it was saved";
}

TEST(TrainEnds, ControlCWhileARunIsResumedLeavesItsCheckpointWhole) {
  const TemporaryFolder folder;
  constexpr int kRanks = 4;
  ASSERT_EQ(run(training(folder.path(), {"-n", "4", "-s", "eager-solo", "--imbalance",
                                         "shift:1..20ms", "--until", "rounds:20"}))
                .code,
            0);
  const fs::path latest = folder.path() / "latest";
  for (const int milliseconds : {0, 100, 300, 600}) {
    Program program(command("train", {"--resume", latest, "--until", "rounds:100000"}));
    await([&] { return !processes_by("SYNCOPATE_RANK", folder.path()).empty(); }, "ranks");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    program.send(SIGINT);
    EXPECT_EQ(program.wait(), 128 + SIGINT) << program.err();
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_FALSE(saved_weights(latest, rank).empty()) << milliseconds << " ms, rank " << rank;
    }
    EXPECT_EQ(json_of(latest / "result.json").at("dead"), nlohmann::json::array());
  }
}

TEST(TrainEnds, TwoJobsDoNotTrainInOneDirectory) {
  const TemporaryFolder folder;
  Program program(
      training(folder.path(), {"-n", "2", "--until", "seconds:600", "--checkpoint-every", "400"}));
  await_checkpoint(folder.path());
  const Ended ended =
      run(command("train", {"--resume", folder.path() / "latest", "--until", "seconds:700"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "is being trained by another job")) << ended.err;
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 128 + SIGINT) << program.err();
  expect_to_go_on(folder.path() / "latest");
}

TEST(TrainEnds, ResumedWithBatchNormalizationItIsAsWithoutAPause) {
  const TemporaryFolder data, whole, parts;
  write_idx(data.path() / "mnist", "train", 60);
  write_idx(data.path() / "mnist", "t10k", 20);
  const auto train = [&](const fs::path& runs, const char* until) {
    return run(command("train", {"-w", "mnist", "--model", "resnet8", "--data", data.path(), "-n",
                                 "2", "--batch", "4", "--pace", "off", "--evaluate-every", "0",
                                 "--until", until, "--runs", runs}));
  };
  ASSERT_EQ(train(whole.path(), "rounds:6").code, 0);
  ASSERT_EQ(train(parts.path(), "rounds:3").code, 0);
  const Ended ended =
      run(command("train", {"--resume", parts.path() / "latest", "--until", "rounds:6"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json_of(parts.path() / "latest" / "result.json").at("loss"),
            json_of(whole.path() / "latest" / "result.json").at("loss"));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(saved_weights(parts.path() / "latest", rank),
              saved_weights(whole.path() / "latest", rank));
  }
}

TEST(TrainEnds, ADamagedCheckpointIsReported) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(training(folder.path(), {"-n", "2", "--until", "rounds:3"})).code, 0);
  const fs::path latest = folder.path() / "latest";
  fs::resize_file(latest / "checkpoint" / "rank-1.safetensors", 1000);
  const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:6"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "rank-1.safetensors cannot be read")) << ended.err;
  EXPECT_TRUE(has(ended.err, "The file is damaged")) << ended.err;
}

TEST(TrainEnds, ACheckpointWithOneWrongByteIsRefusedBeforeAnyRankStarts) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(training(folder.path(), {"-n", "2", "--until", "rounds:3"})).code, 0);
  const fs::path latest = folder.path() / "latest";
  const fs::path part = latest / "checkpoint" / "rank-1.safetensors";
  std::string bytes = text_of(part);
  bytes.back() = char(bytes.back() ^ 1);
  std::ofstream(part, std::ios::binary) << bytes;
  const std::string sound = text_of(latest / "checkpoint" / "rank-0.safetensors");
  const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:6"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "rank-1.safetensors cannot be read: it is damaged")) << ended.err;
  EXPECT_EQ(text_of(latest / "checkpoint" / "rank-0.safetensors"), sound);
  EXPECT_EQ(text_of(part), bytes) << "nothing was saved over it";
}

TEST(TrainEnds, ACheckpointOfAnotherRunIsRefused) {
  const TemporaryFolder folder, other;
  ASSERT_EQ(run(training(folder.path(), {"-n", "1", "--until", "rounds:3"})).code, 0);
  ASSERT_EQ(run(training(other.path(), {"-n", "1", "--until", "rounds:3", "-s", "local:2"})).code,
            0);
  const fs::path latest = folder.path() / "latest";
  fs::remove_all(latest / "checkpoint");
  fs::copy(other.path() / "latest" / "checkpoint", latest / "checkpoint");
  const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:6"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "it is of a run of hyperplane with linear, sgd and local:2"))
      << ended.err;
}

}  // namespace
}  // namespace syncopate::testing

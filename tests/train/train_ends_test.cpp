// Runs that end otherwise than planned: by Ctrl-C, by the death of a rank, by a full disk.
#include <gtest/gtest.h>
#include <sys/mount.h>

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

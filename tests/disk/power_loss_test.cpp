// After a loss of power at any moment a run goes on from its last checkpoint. The calls of a
// training are recorded, and played on a disk that loses what was not synced (crash.h).
#include <gtest/gtest.h>

#include <random>

#include "disk/crash.h"
#include "disk/small_training.h"
#include "train/checkpoint_folder.h"

namespace syncopate::testing {
namespace {

/// Ways in which a disk may lose what was not synced; from the third on, drawn by lot.
constexpr unsigned kWays = 7;

Disk::Survival way(unsigned number, unsigned seed) {
  if (number == 0) return {[] { return false; }, [](std::size_t) { return -1; }};
  // Names without content, as file systems do that delay writing.
  if (number == 1) return {[] { return true; }, [](std::size_t) { return -1; }};
  if (number == 2) return {[] { return true; }, [](std::size_t bytes) { return bytes; }};
  auto random = std::make_shared<std::mt19937>(seed * kWays + number);
  return {
      [=] { return (*random)() % 2 == 0; },
      [=](std::size_t bytes) -> std::int64_t { return std::int64_t((*random)() % (bytes + 1)); }};
}

/// The parts of one checkpoint, as the ranks wrote them.
using Parts = std::vector<std::string>;

/// A training, call by call.
class Film {
 public:
  explicit Film(bool plain) : bench_(plain) {
    const Ended ended = bench_.train();
    if (ended.code != 0) throw std::runtime_error(ended.err);
    model_ = text_of(bench_.runs() / "latest" / "model.safetensors");
    result_ = text_of(bench_.runs() / "latest" / "result.json");
    config_ = text_of(bench_.runs() / "latest" / "config.json");
    run_ = "runs/" + fs::read_symlink(bench_.runs() / "latest").string();
    record_ = bench_.record();
  }

  std::size_t length() const { return record_.size(); }
  const Disk& disk() const { return disk_; }
  const std::string& model() const { return model_; }

  void show(std::size_t call) {
    const std::string& line = record_[call];
    disk_.play(line);
    if (takes_place(line)) {
      Parts parts;
      for (const char* rank : {"0", "1"}) {
        parts.push_back(
            disk_.content(run_ + "/checkpoint/rank-" + std::string(rank) + ".safetensors"));
      }
      saved_.push_back(parts);
    }
    // When a rank writes its metrics, its save has returned.
    if (line.starts_with("write ") && has(line, "/metrics.jsonl ")) promised_ = saved_.size();
  }

  /// What is found after the power has failed now: config, model and result are whole or not there,
  /// and so is the checkpoint, which is the last that was promised or a later one.
  void expect_found(const fs::path& folder) const {
    const fs::path run = folder / run_;
    const auto expect_whole = [&](const char* name, const std::string& content) {
      const std::string found = text_of(run / name);
      EXPECT_TRUE(!fs::exists(run / name) || found == content) << name << " is not whole";
    };
    expect_whole("config.json", config_);
    expect_whole("model.safetensors", model_);
    expect_whole("result.json", result_);
    EXPECT_TRUE(promised_ == 0 || fs::exists(run / "config.json"));
    train::settle_checkpoint(run);
    ASSERT_EQ(fs::exists(run / "checkpoint"), train::has_checkpoint(run));
    if (!train::has_checkpoint(run)) {
      EXPECT_EQ(promised_, 0U) << "there is no checkpoint any more";
      return;
    }
    ASSERT_EQ(train::parts_in(run / "checkpoint"), (std::vector<int>{0, 1}));
    Parts parts;
    for (int rank = 0; rank < 2; ++rank) {
      parts.push_back(text_of(train::part(run / "checkpoint", rank)));
    }
    const auto found = std::ranges::find(saved_, parts);
    // The next one may be whole before it takes its place.
    if (found == saved_.end() && saved_.size() == promised_) return expect_sound(run);
    ASSERT_NE(found, saved_.end()) << "a checkpoint that was never saved";
    EXPECT_GE(std::size_t(found - saved_.begin()) + 1, promised_) << "an older checkpoint";
  }

  fs::path run_in(const fs::path& folder) const { return folder / run_; }
  bool is_moment_to_resume(std::size_t call) const {
    return takes_place(record_[call]) || (call > 0 && takes_place(record_[call - 1]));
  }

 private:
  static void expect_sound(const fs::path& run) {
    EXPECT_EQ(saved_weights(run, 0), saved_weights(run, 1));
  }

  Bench bench_;
  Strings record_;
  std::string run_, config_, model_, result_;
  Disk disk_;
  std::vector<Parts> saved_;  ///< The checkpoints that took their place so far.
  std::size_t promised_ = 0;  ///< How many of them a rank was told of.
};

class PowerLoss : public ::testing::TestWithParam<bool> {};

TEST_P(PowerLoss, AtAnyMomentLeavesTheLastCheckpointWhole) {
  Film film(GetParam());
  for (std::size_t call = 0; call < film.length(); ++call) {
    film.show(call);
    for (unsigned number = 0; number < kWays; ++number) {
      SCOPED_TRACE("after call " + std::to_string(call + 1) + " of " +
                   std::to_string(film.length()) + ", way " + std::to_string(number));
      const TemporaryFolder folder(quick_place());
      film.disk().write_to(folder.path(), way(number, unsigned(call)));
      film.expect_found(folder.path());
      if (HasFailure()) return;
    }
  }
  const TemporaryFolder folder(quick_place());
  film.disk().write_to(folder.path(), way(0, 0));
  EXPECT_TRUE(fs::exists(film.run_in(folder.path()) / "model.safetensors"));
  EXPECT_TRUE(fs::exists(film.run_in(folder.path()) / "result.json"));
  EXPECT_TRUE(fs::exists(folder.path() / "runs" / "latest"));
}

TEST_P(PowerLoss, IsFollowedByTheSameModelWhenTheRunGoesOn) {
  Film film(GetParam());
  for (std::size_t call = 0; call < film.length(); ++call) {
    film.show(call);
    if (!film.is_moment_to_resume(call)) continue;
    const TemporaryFolder folder(quick_place());
    const unsigned number = unsigned(call) % 2 == 0 ? 0 : 3;
    SCOPED_TRACE("after call " + std::to_string(call + 1) + ", way " + std::to_string(number));
    film.disk().write_to(folder.path(), way(number, unsigned(call)));
    const fs::path run = film.run_in(folder.path());
    if (!train::has_checkpoint(run)) continue;
    const Ended ended = testing::run(command("train", {"--resume", run}));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(text_of(run / "model.safetensors") == film.model(), true) << "another model";
  }
}

INSTANTIATE_TEST_SUITE_P(FileSystem, PowerLoss, ::testing::Bool(), [](const auto& plain) {
  return plain.param ? "WithoutExchange" : "WithExchange";
});

}  // namespace
}  // namespace syncopate::testing

// All ranks follow the same exchanges, and so come to the same decisions.
#include "train/run_progress.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

namespace syncopate::train {
namespace {

constexpr std::int64_t kEpoch = 1000;

RunProgress progress(const std::string& until, const Config& rest = {.evaluate_every = 0}) {
  Config config = rest;
  config.until = Until::parse(until);
  return {config, kEpoch};
}

void follow(RunProgress& progress, float samples, bool agreed = true, float stop = 0) {
  const std::array<float, kNotes> notes = {samples, 2 * samples, samples / 2, stop};
  progress.follow({.agreed = agreed,
                   .notes = agreed ? std::span<const float>(notes) : std::span<const float>()});
}

TEST(RunProgress, StopsWhenTheEndIsReachedAndNotBefore) {
  for (const char* until : {"samples:200", "epochs:0.2", "rounds:2"}) {
    SCOPED_TRACE(until);
    RunProgress progress = train::progress(until);
    follow(progress, 100);
    EXPECT_FALSE(progress.must_stop());
    EXPECT_DOUBLE_EQ(progress.share(), 0.5);
    follow(progress, 100);
    EXPECT_TRUE(progress.must_stop());
    EXPECT_DOUBLE_EQ(progress.share(), 1);
  }
}

TEST(RunProgress, CountsAgreedExchangesAlone) {
  RunProgress progress = train::progress("rounds:1");
  follow(progress, 100, false);
  EXPECT_EQ(progress.exchanges(), 0U);
  EXPECT_EQ(progress.samples(), 0);
  EXPECT_FALSE(progress.must_stop());
}

TEST(RunProgress, OneVoteStopsEveryone) {
  RunProgress progress = train::progress("seconds:60");
  follow(progress, 100);
  EXPECT_FALSE(progress.must_stop());
  follow(progress, 100, true, 1);
  EXPECT_TRUE(progress.must_stop());
}

TEST(RunProgress, ALossThatHasExplodedStopsEveryone) {
  const auto lose = [](RunProgress& progress, float loss) {
    const std::array<float, kNotes> notes = {1, loss, 0, 0};
    progress.follow({.agreed = true, .notes = notes});
  };
  RunProgress progress = train::progress("rounds:9");
  lose(progress, 3.5F);
  lose(progress, 3.4e4F);
  EXPECT_FALSE(progress.must_stop()) << "it may come back";
  lose(progress, 3.6e4F);
  EXPECT_TRUE(progress.must_stop());
  EXPECT_TRUE(progress.diverged());

  RunProgress resumed = train::progress("rounds:9");
  lose(resumed, 1e-9F);
  lose(resumed, 2);
  EXPECT_FALSE(resumed.diverged()) << "its first loss was near 0";
}

TEST(RunProgress, ALossThatIsNoNumberStopsEveryone) {
  for (const float loss : {std::nanf(""), INFINITY}) {
    RunProgress progress = train::progress("rounds:9");
    follow(progress, 100);
    EXPECT_FALSE(progress.diverged());
    const std::array<float, kNotes> notes = {100, loss, 50, 0};
    progress.follow({.agreed = true, .notes = notes});
    EXPECT_TRUE(progress.diverged());
    EXPECT_TRUE(progress.must_stop());
  }
}

TEST(RunProgress, TellsLossAndAccuracyOfTheLastSamples) {
  RunProgress progress = train::progress("rounds:9");
  follow(progress, 100);
  EXPECT_DOUBLE_EQ(progress.training_loss(), 2);
  EXPECT_DOUBLE_EQ(progress.training_accuracy(), 50);
  follow(progress, 0);
  EXPECT_DOUBLE_EQ(progress.training_loss(), 2);
}

TEST(RunProgress, EvaluatesAndSavesOnceForEachMarkThatIsPassed) {
  RunProgress progress =
      train::progress("samples:1e6", {.evaluate_every = 150, .checkpoint_every = 400});
  follow(progress, 100);
  EXPECT_FALSE(progress.must_evaluate());
  follow(progress, 100);
  EXPECT_TRUE(progress.must_evaluate());
  EXPECT_FALSE(progress.must_save());
  progress.evaluated();
  EXPECT_FALSE(progress.must_evaluate());
  follow(progress, 99);
  EXPECT_FALSE(progress.must_evaluate());
  follow(progress, 500);  // Past several marks at once.
  EXPECT_TRUE(progress.must_evaluate());
  EXPECT_TRUE(progress.must_save());
  progress.evaluated();
  progress.saved();
  follow(progress, 0);
  EXPECT_FALSE(progress.must_evaluate());
  EXPECT_FALSE(progress.must_save());
}

TEST(RunProgress, EvaluatesFourTimesInAnEpochUnlessToldOtherwise) {
  RunProgress progress = train::progress("epochs:1", {.evaluate_every = -1});
  int evaluations = 0;
  for (int i = 0; i < 10; ++i) {
    follow(progress, 100);
    evaluations += progress.must_evaluate();
    progress.evaluated();
  }
  EXPECT_EQ(evaluations, 4);
}

TEST(RunProgress, SavesAfterEachEpochUnlessToldOtherwise) {
  const auto saves_in_two_epochs = [](const Config& config) {
    RunProgress progress = train::progress("samples:1e6", config);
    int saves = 0;
    for (int i = 0; i < 20; ++i) {
      follow(progress, kEpoch / 10);
      if (!progress.must_save()) continue;
      ++saves;
      progress.saved();
    }
    return saves;
  };
  EXPECT_EQ(saves_in_two_epochs({}), 2);
  EXPECT_EQ(saves_in_two_epochs({.checkpoint_every = 0}), 0);
  EXPECT_EQ(saves_in_two_epochs({.checkpoints = false}), 0);
}

TEST(RunProgress, RateFollowsACosineBySamples) {
  RunProgress progress =
      train::progress("samples:400", {.schedule = "cosine", .evaluate_every = 0});
  EXPECT_DOUBLE_EQ(progress.rate(), 1);
  follow(progress, 100);
  EXPECT_NEAR(progress.rate(), 0.5 + std::sqrt(0.125), 1e-12);
  follow(progress, 100);
  EXPECT_NEAR(progress.rate(), 0.5, 1e-12);
  follow(progress, 300);
  EXPECT_NEAR(progress.rate(), 0, 1e-12);
}

TEST(RunProgress, ResumedBeforeItsEndGoesOnAndAtItsEndDoesNot) {
  RunProgress progress = train::progress("rounds:10");
  progress.resume(500, 9);
  EXPECT_FALSE(progress.must_stop());
  follow(progress, 100);
  EXPECT_EQ(progress.samples(), 600);
  EXPECT_TRUE(progress.must_stop());

  RunProgress ended = train::progress("rounds:10");
  ended.resume(600, 10);
  EXPECT_TRUE(ended.must_stop());
}

TEST(RunProgress, HasEndedByTheClockAndByAnEvaluation) {
  const Position position{.seconds = 60, .judged = Evaluation{.accuracy = 88, .loss = 0.3}};
  for (const char* until : {"seconds:60", "accuracy:88", "loss:0.3"}) {
    EXPECT_TRUE(has_ended(Until::parse(until), kEpoch, position)) << until;
    EXPECT_FALSE(has_ended(Until::parse(until), kEpoch, {})) << until;
  }
  for (const char* until : {"seconds:61", "accuracy:89", "loss:0.2", "rounds:1", "epochs:1"}) {
    EXPECT_FALSE(has_ended(Until::parse(until), kEpoch, position)) << until;
  }
}

TEST(Until, ReadsWhatItWrites) {
  for (const char* text :
       {"samples:300", "epochs:0.25", "rounds:7", "seconds:1.5", "accuracy:88.5", "loss:0.016"}) {
    EXPECT_EQ(to_string(Until::parse(text)), text);
  }
}

}  // namespace
}  // namespace syncopate::train

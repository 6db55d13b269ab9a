// All ranks follow the same exchanges, and so come to the same decisions.
#include "train/course.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

namespace syncopate::train {
namespace {

constexpr std::int64_t kEpoch = 1000;

Course course(const std::string& until, const Config& rest = {.evaluate_every = 0}) {
  Config config = rest;
  config.until = Until::parse(until);
  return {config, kEpoch};
}

void follow(Course& course, float samples, bool agreed = true, float stop = 0) {
  const std::array<float, kNotes> notes = {samples, 2 * samples, samples / 2, stop};
  course.follow({.agreed = agreed,
                 .notes = agreed ? std::span<const float>(notes) : std::span<const float>()});
}

TEST(Course, StopsWhenTheEndIsReachedAndNotBefore) {
  for (const char* until : {"samples:200", "epochs:0.2", "rounds:2"}) {
    SCOPED_TRACE(until);
    Course course = train::course(until);
    follow(course, 100);
    EXPECT_FALSE(course.must_stop());
    EXPECT_DOUBLE_EQ(course.share(), 0.5);
    follow(course, 100);
    EXPECT_TRUE(course.must_stop());
    EXPECT_DOUBLE_EQ(course.share(), 1);
  }
}

TEST(Course, CountsAgreedExchangesAlone) {
  Course course = train::course("rounds:1");
  follow(course, 100, false);
  EXPECT_EQ(course.exchanges(), 0U);
  EXPECT_EQ(course.samples(), 0);
  EXPECT_FALSE(course.must_stop());
}

TEST(Course, OneVoteStopsEveryone) {
  Course course = train::course("seconds:60");
  follow(course, 100);
  EXPECT_FALSE(course.must_stop());
  follow(course, 100, true, 1);
  EXPECT_TRUE(course.must_stop());
}

TEST(Course, ALossThatHasExplodedStopsEveryone) {
  const auto lose = [](Course& course, float loss) {
    const std::array<float, kNotes> notes = {1, loss, 0, 0};
    course.follow({.agreed = true, .notes = notes});
  };
  Course course = train::course("rounds:9");
  lose(course, 3.5F);
  lose(course, 3.4e4F);
  EXPECT_FALSE(course.must_stop()) << "it may come back";
  lose(course, 3.6e4F);
  EXPECT_TRUE(course.must_stop());
  EXPECT_TRUE(course.diverged());

  Course resumed = train::course("rounds:9");
  lose(resumed, 1e-9F);
  lose(resumed, 2);
  EXPECT_FALSE(resumed.diverged()) << "its first loss was near 0";
}

TEST(Course, ALossThatIsNoNumberStopsEveryone) {
  for (const float loss : {std::nanf(""), INFINITY}) {
    Course course = train::course("rounds:9");
    follow(course, 100);
    EXPECT_FALSE(course.diverged());
    const std::array<float, kNotes> notes = {100, loss, 50, 0};
    course.follow({.agreed = true, .notes = notes});
    EXPECT_TRUE(course.diverged());
    EXPECT_TRUE(course.must_stop());
  }
}

TEST(Course, TellsLossAndAccuracyOfTheLastSamples) {
  Course course = train::course("rounds:9");
  follow(course, 100);
  EXPECT_DOUBLE_EQ(course.training_loss(), 2);
  EXPECT_DOUBLE_EQ(course.training_accuracy(), 50);
  follow(course, 0);
  EXPECT_DOUBLE_EQ(course.training_loss(), 2);
}

TEST(Course, EvaluatesAndSavesOnceForEachMarkThatIsPassed) {
  Course course = train::course("samples:1e6", {.evaluate_every = 150, .checkpoint_every = 400});
  follow(course, 100);
  EXPECT_FALSE(course.must_evaluate());
  follow(course, 100);
  EXPECT_TRUE(course.must_evaluate());
  EXPECT_FALSE(course.must_save());
  course.evaluated();
  EXPECT_FALSE(course.must_evaluate());
  follow(course, 99);
  EXPECT_FALSE(course.must_evaluate());
  follow(course, 500);  // Past several marks at once.
  EXPECT_TRUE(course.must_evaluate());
  EXPECT_TRUE(course.must_save());
  course.evaluated();
  course.saved();
  follow(course, 0);
  EXPECT_FALSE(course.must_evaluate());
  EXPECT_FALSE(course.must_save());
}

TEST(Course, EvaluatesFourTimesInAnEpochUnlessToldOtherwise) {
  Course course = train::course("epochs:1", {.evaluate_every = -1});
  int evaluations = 0;
  for (int i = 0; i < 10; ++i) {
    follow(course, 100);
    evaluations += course.must_evaluate();
    course.evaluated();
  }
  EXPECT_EQ(evaluations, 4);
}

TEST(Course, SavesAfterEachEpochUnlessToldOtherwise) {
  const auto saves_in_two_epochs = [](const Config& config) {
    Course course = train::course("samples:1e6", config);
    int saves = 0;
    for (int i = 0; i < 20; ++i) {
      follow(course, kEpoch / 10);
      if (!course.must_save()) continue;
      ++saves;
      course.saved();
    }
    return saves;
  };
  EXPECT_EQ(saves_in_two_epochs({}), 2);
  EXPECT_EQ(saves_in_two_epochs({.checkpoint_every = 0}), 0);
  EXPECT_EQ(saves_in_two_epochs({.checkpoints = false}), 0);
}

TEST(Course, RateFollowsACosineBySamples) {
  Course course = train::course("samples:400", {.schedule = "cosine", .evaluate_every = 0});
  EXPECT_DOUBLE_EQ(course.rate(), 1);
  follow(course, 100);
  EXPECT_NEAR(course.rate(), 0.5 + std::sqrt(0.125), 1e-12);
  follow(course, 100);
  EXPECT_NEAR(course.rate(), 0.5, 1e-12);
  follow(course, 300);
  EXPECT_NEAR(course.rate(), 0, 1e-12);
}

TEST(Course, ResumedBeforeItsEndGoesOnAndAtItsEndDoesNot) {
  Course course = train::course("rounds:10");
  course.resume(500, 9);
  EXPECT_FALSE(course.must_stop());
  follow(course, 100);
  EXPECT_EQ(course.samples(), 600);
  EXPECT_TRUE(course.must_stop());

  Course ended = train::course("rounds:10");
  ended.resume(600, 10);
  EXPECT_TRUE(ended.must_stop());
}

TEST(Course, HasEndedByTheClockAndByAnEvaluation) {
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

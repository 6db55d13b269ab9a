// How the figures of a run follow from what its ranks counted.
#include "train/result.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "train/bytes.h"

namespace syncopate::train {
namespace {

const std::vector<Evaluation> kEvaluations = {
    {.seconds = 1, .samples = 100, .accuracy = 60, .loss = 0.9},
    {.seconds = 2, .samples = 200, .accuracy = 80, .loss = 0.5},
    {.seconds = 3, .samples = 300, .accuracy = 79, .loss = 0.6}};

/// The first rank computes 10 samples per second, the second 40, and both stay for 10 s.
std::vector<RankSums> two_ranks() {
  return {{.seconds = 10,
           .computing = 10,
           .waiting = 0,
           .samples = 100,
           .exchanges = 10,
           .contributors = 20,
           .staleness = 1,
           .dropped = 3},
          {.seconds = 9,
           .computing = 2.5,
           .waiting = 7.6,
           .samples = 100,
           .exchanges = 30,
           .contributors = 40,
           .staleness = 4,
           .dropped = 3}};
}

TEST(Result, IdealIsAllSamplesAtTheSumOfTheRanksOwnRates) {
  const Result result = sum_up(two_ranks(), {200, 200}, kEvaluations, 0, false);
  EXPECT_DOUBLE_EQ(result.ideal_seconds, 200.0 / 50);
  EXPECT_DOUBLE_EQ(result.share_of_ideal, 0.4);
}

TEST(Result, WorkThatWasDroppedIsNoPartOfTheIdeal) {
  EXPECT_DOUBLE_EQ(sum_up(two_ranks(), {150, 150}, {}, 0, false).ideal_seconds, 150.0 / 50);
}

TEST(Result, WorkOfTheDeadIsNoPartOfTheIdealOfTheOthers) {
  EXPECT_DOUBLE_EQ(sum_up(two_ranks(), {300, 300}, {}, 0, false).ideal_seconds, 200.0 / 50);
}

TEST(Result, SumsOverRanks) {
  const Result result = sum_up(two_ranks(), {200, 200}, kEvaluations, 0, false);
  EXPECT_DOUBLE_EQ(result.seconds, 10);
  EXPECT_DOUBLE_EQ(result.samples, 200);
  EXPECT_DOUBLE_EQ(result.samples_per_s, 20);
  EXPECT_DOUBLE_EQ(result.wait_share, 0.4);
  EXPECT_DOUBLE_EQ(result.contributors_mean, 1.5);
  EXPECT_DOUBLE_EQ(result.staleness_max, 4);
  EXPECT_DOUBLE_EQ(result.dropped, 3) << "every rank is told of every drop";
}

TEST(Result, FiguresOfRanksAreOfTheTimeSinceTheyBegan) {
  std::vector<RankSums> ranks = two_ranks();
  for (RankSums& rank : ranks) rank.before = 90;
  const Result result = sum_up(ranks, {2000, 200}, kEvaluations, 0, false);
  EXPECT_DOUBLE_EQ(result.seconds, 100);
  EXPECT_DOUBLE_EQ(result.samples_per_s, 20);
  EXPECT_DOUBLE_EQ(result.wait_share, 0.4);
  EXPECT_DOUBLE_EQ(result.ideal_seconds, 200.0 / 50);
  EXPECT_DOUBLE_EQ(result.share_of_ideal, 0.4);
}

TEST(Result, EndsWithTheLastEvaluation) {
  const Result result = sum_up(two_ranks(), {200, 200}, kEvaluations, 0, false);
  EXPECT_DOUBLE_EQ(result.accuracy, 79);
  EXPECT_DOUBLE_EQ(result.loss, 0.6);
  EXPECT_EQ(result.evaluations.size(), 3U);
}

TEST(Result, TimeToTargetIsThatOfTheFirstEvaluationThere) {
  const auto time = [](double target, bool regression) {
    return sum_up(two_ranks(), {200, 200}, kEvaluations, target, regression).time_to_target;
  };
  EXPECT_EQ(time(79, false), 2);
  EXPECT_EQ(time(60, false), 1);
  EXPECT_EQ(time(80.5, false), std::nullopt);
  EXPECT_EQ(time(0, false), std::nullopt) << "no target was set";
  EXPECT_EQ(time(0.6, true), 2) << "a loss is to be low";
  EXPECT_EQ(time(0.4, true), std::nullopt);
}

TEST(Result, ARankThatDiedAtTheStartCountsForNothing) {
  std::vector<RankSums> ranks = two_ranks();
  ranks.emplace_back();
  const Result result = sum_up(ranks, {200, 200}, {}, 50, false);
  EXPECT_DOUBLE_EQ(result.ideal_seconds, 4);
  EXPECT_DOUBLE_EQ(result.wait_share, 0.4);
  EXPECT_DOUBLE_EQ(sum_up({{}}, {}, {}, 50, false).share_of_ideal, 0);
}

TEST(Result, IsReadAsItWasWritten) {
  Result result = sum_up(two_ranks(), {200, 200}, kEvaluations, 80, false);
  result.rounds = 12;
  result.interrupted = true;
  result.dead = {1, 3};
  const nlohmann::json written = result;
  const Result read = parse_result(written.dump());
  EXPECT_EQ(nlohmann::json(read), written);
  EXPECT_EQ(read.time_to_target, 2);
  EXPECT_EQ(read.dead, result.dead);
}

TEST(Result, OfARunThatDivergedCanBeReadToo) {
  Result result;
  result.loss = std::numeric_limits<double>::infinity();
  result.evaluations = {{.loss = std::numeric_limits<double>::quiet_NaN()}};
  const Result read = parse_result(nlohmann::json(result).dump());
  EXPECT_TRUE(std::isnan(read.loss));
  EXPECT_TRUE(std::isnan(read.evaluations.at(0).loss));
}

TEST(Result, ThatIsDamagedIsRefusedInWordsOfOurs) {
  const nlohmann::json whole = Result{};
  const auto refused = [&](const char* words, const auto& change) {
    nlohmann::json damaged = whole;
    change(damaged);
    try {
      parse_result(damaged.dump());
      ADD_FAILURE() << words;
    } catch (const Damaged& damage) {
      EXPECT_NE(std::string(damage.what()).find(words), std::string::npos) << damage.what();
    }
  };
  refused("no \"rounds\"", [](auto& json) { json.erase("rounds"); });
  refused("\"rounds\" \"two\"", [](auto& json) { json["rounds"] = "two"; });
  refused("\"seconds\" -1.0", [](auto& json) { json["seconds"] = -1.0; });
  refused("\"diverged\" 1", [](auto& json) { json["diverged"] = 1; });
  refused("\"rank\" -1", [](auto& json) { json["dead"] = {-1}; });
  refused("an evaluation is 7", [](auto& json) { json["evaluations"] = {7}; });
  refused("\"more\", which is not known", [](auto& json) { json["more"] = 1; });
  EXPECT_THROW(parse_result(""), Damaged);
  EXPECT_THROW(parse_result("[1]"), Damaged);
}

}  // namespace
}  // namespace syncopate::train

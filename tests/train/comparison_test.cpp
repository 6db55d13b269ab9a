// What `syncopate compare` makes of the runs.
#include "cli/train/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace syncopate::cli {
namespace {

using train::Result;
using Runs = std::vector<std::pair<std::string, std::vector<Result>>>;

/// Reaches 80 % (a loss of 0.2) halfway, and `accuracy` at its end.
Result run(double seconds, double accuracy) {
  Result result{.seconds = seconds, .accuracy = accuracy, .loss = (100 - accuracy) / 100};
  result.evaluations = {{.seconds = seconds / 2, .accuracy = 80, .loss = 0.2},
                        {.seconds = seconds, .accuracy = accuracy, .loss = result.loss}};
  return result;
}

const Row& row(const Comparison& comparison, const std::string& strategy) {
  for (const Row& one : comparison.rows) {
    if (one.strategy == strategy) return one;
  }
  throw std::runtime_error("no row of " + strategy);
}

TEST(Comparison, SpeedIsAgainstSyncWhereverItStands) {
  const Runs runs = {
      {"eager-solo", {run(4, 90)}}, {"sync", {run(10, 90)}}, {"wagma", {run(20, 91)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_DOUBLE_EQ(*row(comparison, "eager-solo").speedup, 2.5);
  EXPECT_DOUBLE_EQ(*row(comparison, "sync").speedup, 1);
  EXPECT_DOUBLE_EQ(*row(comparison, "wagma").speedup, 0.5);
}

TEST(Comparison, TargetIsWhatSyncEndedWith) {
  const Runs runs = {{"sync", {run(10, 90)}}, {"eager-solo", {run(4, 90)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_TRUE(comparison.target_of_sync);
  EXPECT_DOUBLE_EQ(comparison.target, 90);
  EXPECT_EQ(row(comparison, "sync").time_to_target, 10);
  EXPECT_EQ(row(comparison, "eager-solo").time_to_target, 4);
  EXPECT_DOUBLE_EQ(*row(comparison, "eager-solo").target_share, 0.4);
}

TEST(Comparison, SyncIsSyncWithParametersToo) {
  const Runs runs = {
      {"sync:ahead=2", {run(10, 90)}}, {"eager-solo", {run(4, 90)}}, {"sync", {run(20, 91)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_DOUBLE_EQ(comparison.target, 90);
  EXPECT_DOUBLE_EQ(*row(comparison, "eager-solo").speedup, 2.5);
}

TEST(Comparison, TimesAreComparedWithThoseOfSyncUnderTheSameSeeds) {
  // Of the second run's target the other falls short: its time of sync does not count.
  const Runs runs = {{"sync", {run(10, 90), run(30, 95)}},
                     {"eager-solo", {run(4, 90), run(5, 92)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_EQ(row(comparison, "eager-solo").reached, 1);
  EXPECT_DOUBLE_EQ(*row(comparison, "eager-solo").target_share, 0.4);
}

TEST(Comparison, TargetIsTheGivenOneIfThereIsAny) {
  const Runs runs = {{"sync", {run(10, 90)}}, {"eager-solo", {run(4, 90)}}};
  const Comparison comparison = put_together(runs, 80, 85, false);
  EXPECT_FALSE(comparison.target_of_sync);
  EXPECT_EQ(row(comparison, "sync").time_to_target, 5);
  EXPECT_EQ(row(comparison, "eager-solo").time_to_target, 2);
}

TEST(Comparison, WithoutSyncThereIsTheUsualTargetAndNoSpeedUp) {
  const Comparison comparison = put_together({{"wagma", {run(4, 90)}}}, std::nullopt, 85, false);
  EXPECT_DOUBLE_EQ(comparison.target, 85);
  EXPECT_EQ(comparison.rows[0].time_to_target, 4);
  EXPECT_EQ(comparison.rows[0].speedup, std::nullopt);
  EXPECT_EQ(comparison.rows[0].target_share, std::nullopt);
  EXPECT_EQ(conclusion(comparison, false),
            "There is no sync among them to compare the others with.");
}

TEST(Comparison, SaysHowManyRunsReachedTheTarget) {
  const Runs runs = {{"sync", {run(10, 90), run(10, 90)}},
                     {"wagma", {run(4, 95), run(6, 89)}},
                     {"local:10", {run(4, 85), run(4, 85)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_EQ(row(comparison, "wagma").reached, 1);
  EXPECT_EQ(row(comparison, "wagma").time_to_target, 4);
  EXPECT_EQ(row(comparison, "local:10").reached, 0);
  EXPECT_EQ(row(comparison, "local:10").time_to_target, std::nullopt);
  EXPECT_EQ(row(comparison, "local:10").target_share, std::nullopt);
  EXPECT_DOUBLE_EQ(*row(comparison, "local:10").speedup, 2.5);
  EXPECT_NE(table(comparison, false, 8).find("(1/2)"), std::string::npos);
  EXPECT_NE(conclusion(comparison, false).find("None of the others reached 90.00 %"),
            std::string::npos);
  const auto line = to_lines(comparison, {}).at(2);
  EXPECT_TRUE(line.at("time_to_target").is_null());
}

TEST(Comparison, ARunIsMeasuredAgainstSyncUnderTheSameSeed) {
  const Runs runs = {{"sync", {run(10, 90), run(10, 80)}}, {"wagma", {run(4, 91), run(6, 85)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_EQ(row(comparison, "wagma").reached, 2);
  EXPECT_DOUBLE_EQ(*row(comparison, "wagma").time_to_target, (4 + 3) / 2.0);
  EXPECT_DOUBLE_EQ(*row(comparison, "sync").time_to_target, (10 + 5) / 2.0);
}

TEST(Comparison, ARegressionIsJudgedByItsLoss) {
  const Runs runs = {{"sync", {run(10, 90)}}, {"local:10", {run(4, 92)}}, {"wagma", {run(4, 85)}}};
  const Comparison comparison = put_together(runs, std::nullopt, 0.3, true);
  EXPECT_DOUBLE_EQ(comparison.target, 0.1);
  EXPECT_EQ(row(comparison, "local:10").time_to_target, 4);
  EXPECT_EQ(row(comparison, "wagma").time_to_target, std::nullopt);
  EXPECT_NE(table(comparison, true, 8).find("loss"), std::string::npos);
}

TEST(Comparison, RunsGiveAMeanAndASpread) {
  Runs runs = {{"sync", {run(10, 88), run(14, 92)}}};
  runs[0].second[0].staleness_max = 3;
  const Comparison comparison = put_together(runs, 80, 85, false);
  EXPECT_DOUBLE_EQ(comparison.rows[0].seconds.mean, 12);
  EXPECT_DOUBLE_EQ(comparison.rows[0].accuracy.mean, 90);
  EXPECT_DOUBLE_EQ(comparison.rows[0].accuracy.least, 88);
  EXPECT_DOUBLE_EQ(comparison.rows[0].accuracy.most, 92);
  EXPECT_DOUBLE_EQ(comparison.rows[0].staleness_max, 3);
  EXPECT_EQ(comparison.rows[0].time_to_target, 6);
  EXPECT_NE(table(comparison, false, 8).find("90.00 ±2.00"), std::string::npos);
}

TEST(Comparison, ConclusionNamesTheFirstAtTheTarget) {
  const Runs runs = {
      {"sync", {run(10, 90)}}, {"wagma", {run(6, 90)}}, {"eager-solo", {run(4, 90)}}};
  const std::string text = conclusion(put_together(runs, std::nullopt, 85, false), false);
  EXPECT_NE(text.find("eager-solo reached 90.00 %, where sync ended, after 4.0 s, 0.40 of sync's"),
            std::string::npos)
      << text;
}

TEST(Comparison, SyncAloneIsComparedWithNobody) {
  const Runs runs = {{"sync", {run(10, 90)}}, {"sync:ahead=1", {run(10, 90)}}};
  const std::string text = conclusion(put_together(runs, std::nullopt, 85, false), false);
  EXPECT_NE(text.find("sync stood still"), std::string::npos) << text;
  EXPECT_EQ(text.find("others"), std::string::npos) << text;
}

TEST(Comparison, ARunThatDivergedHasNoSpeed) {
  Runs runs = {{"sync", {run(10, 90), run(10, 90)}}, {"eager-solo", {run(1, 10), run(4, 90)}}};
  runs[1].second[0].diverged = true;
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_EQ(row(comparison, "eager-solo").speedup, std::nullopt);
  EXPECT_EQ(to_lines(comparison, {}).at(1).at("diverged"), 1);
  const std::string text = conclusion(comparison, false);
  EXPECT_NE(text.find("None of the others reached 90.00 %"), std::string::npos) << text;
  EXPECT_NE(text.find("eager-solo diverged in 1 of 2 runs"), std::string::npos) << text;
}

TEST(Comparison, NobodyIsComparedWithASyncThatDiverged) {
  Runs runs = {{"sync", {run(1, 10)}}, {"eager-solo", {run(4, 90)}}};
  runs[0].second[0].diverged = true;
  const Comparison comparison = put_together(runs, std::nullopt, 85, false);
  EXPECT_DOUBLE_EQ(comparison.target, 85);
  EXPECT_EQ(row(comparison, "eager-solo").speedup, std::nullopt);
  EXPECT_EQ(conclusion(comparison, false).find("stood still"), std::string::npos);
  EXPECT_NE(table(comparison, false, 8).find("diverged"), std::string::npos);
}

}  // namespace
}  // namespace syncopate::cli

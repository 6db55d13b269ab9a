// What is left of an earlier part in a run directory when the run goes on.
#include <gtest/gtest.h>

#include <fstream>

#include "train/job.h"
#include "train/metrics.h"
#include "train/result.h"
#include "train/temporary_folder.h"

namespace syncopate::testing {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

constexpr const char* kZeroAtOne = R"({"rank":0,"round":1,"arrived_s":1.000000,"loss":2})";
constexpr const char* kZeroAtThree = R"({"rank":0,"round":3,"arrived_s":3.000000,"loss":null})";
constexpr const char* kOneAtTwo = R"({"rank":1,"round":2,"arrived_s":2.000000,"loss":1})";
constexpr const char* kFiveAtTwo = R"({"rank":5,"round":2,"arrived_s":2.000000,"loss":1})";

/// What is kept of these lines, by the clocks of a checkpoint.
std::string cut(const std::string& lines, const std::map<int, double>& clocks) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  write(file, lines);
  train::cut_metrics(file, clocks);
  return text_of(file);
}

std::string lines(std::initializer_list<const char*> each) {
  std::string all;
  for (const char* line : each) all += std::string(line) + "\n";
  return all;
}

TEST(CutMetrics, LeavesOutWhatEachRankWroteAfterItsClock) {
  EXPECT_EQ(cut(lines({kZeroAtOne, kOneAtTwo, kZeroAtThree}), {{0, 2.5}, {1, 1.5}}),
            lines({kZeroAtOne}));
  EXPECT_EQ(cut(lines({kZeroAtOne, kOneAtTwo, kZeroAtThree}), {{0, 2.5}, {1, 2.5}}),
            lines({kZeroAtOne, kOneAtTwo}));
}

TEST(CutMetrics, TakesTheLatestClockForARankThatHasNone) {
  EXPECT_EQ(cut(lines({kFiveAtTwo}), {{0, 2.5}, {1, 1.5}}), lines({kFiveAtTwo}));
  EXPECT_EQ(cut(lines({kFiveAtTwo}), {{0, 1.5}, {1, 0.5}}), "");
}

TEST(CutMetrics, KeepsEverythingWithoutACheckpoint) {
  EXPECT_EQ(cut(lines({kZeroAtOne}), {}), lines({kZeroAtOne}));
}

TEST(CutMetrics, LeavesOutWhatAWriterThatWasKilledDidNotFinish) {
  const std::string torn = R"({"rank":1,"round":2,"arri)";
  EXPECT_EQ(cut(lines({kZeroAtOne}) + torn, {{0, 9}, {1, 9}}), lines({kZeroAtOne}));
  EXPECT_EQ(cut(torn + lines({kZeroAtOne}), {{0, 9}, {1, 9}}), lines({kZeroAtOne}))
      << "another rank wrote after it";
}

/// What a run directory with these results has after it was reopened: result, earlier result.
std::pair<std::string, std::string> reopen(const std::string& result, const std::string& earlier) {
  const TemporaryFolder folder;
  write(folder.path() / train::kResultFile, result);
  write(folder.path() / train::kEarlierResultFile, earlier);
  train::reopen_run(folder.path(), train::Config{});
  return {text_of(folder.path() / train::kResultFile),
          text_of(folder.path() / train::kEarlierResultFile)};
}

TEST(ReopenedRun, GoesOnFromTheLastResult) {
  const std::string first = R"({"diverged":false,"rounds":1})";
  const std::string second = R"({"diverged":false,"rounds":2})";
  EXPECT_EQ(reopen(second, first), std::pair(std::string(), second));
}

TEST(ReopenedRun, DoesNotGoOnFromAPartThatDiverged) {
  const std::string first = R"({"diverged":false,"rounds":1})";
  const std::string second = R"({"diverged":true,"rounds":2})";
  EXPECT_EQ(reopen(second, first), std::pair(std::string(), first));
}

}  // namespace
}  // namespace syncopate::testing

#include "train/result.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "train/bytes.h"
#include "train/json.h"
#include "train/limits.h"

namespace syncopate::train {
namespace {

constexpr std::uint64_t kLongestResult = std::uint64_t{256} << 20;
/// In per cent, summed up with some error.
constexpr double kMostAccuracy = 100.001;

}  // namespace

void to_json(nlohmann::json& json, const Evaluation& evaluation) {
  json = {{"seconds", evaluation.seconds},
          {"samples", std::llround(evaluation.samples)},
          {"accuracy", evaluation.accuracy},
          {"loss", evaluation.loss}};
}

Evaluation read_evaluation(const nlohmann::json& json) {
  Members members(json, "an evaluation");
  // A loss that is no number, of a run that diverged, is written as null.
  const Evaluation evaluation{.seconds = members.number("seconds", 0, kLargest),
                              .samples = members.number("samples", 0, double(kMostCounted)),
                              .accuracy = members.number("accuracy", 0, kMostAccuracy),
                              .loss = members.number_or_null("loss", -kLargest, kLargest)};
  members.expect_no_others();
  return evaluation;
}

std::optional<double> time_to(double target, bool regression,
                              const std::vector<Evaluation>& evaluations) {
  for (const Evaluation& one : evaluations) {
    if (regression ? one.loss <= target : one.accuracy >= target) return one.seconds;
  }
  return std::nullopt;
}

Result sum_up(const std::vector<RankSums>& ranks, const Counted& samples,
              const std::vector<Evaluation>& evaluations, double target, bool regression) {
  Result result{.samples = samples.all};
  double rates = 0, ranks_seconds = 0, waiting = 0, exchanges = 0, contributors = 0;
  double since = 0, computed = 0;
  for (const RankSums& rank : ranks) {
    result.seconds = std::max(result.seconds, rank.before + rank.seconds);
    since = std::max(since, rank.seconds);
    computed += rank.samples;

    result.staleness_max = std::max(result.staleness_max, rank.staleness);
    // Every rank is told of every drop.
    result.dropped = std::max(result.dropped, rank.dropped);
    if (rank.computing > 0) rates += rank.samples / rank.computing;
    ranks_seconds += rank.seconds;
    waiting += rank.waiting;
    exchanges += rank.exchanges;
    contributors += rank.contributors;
  }
  if (ranks_seconds > 0) result.wait_share = waiting / ranks_seconds;
  if (exchanges > 0) result.contributors_mean = contributors / exchanges;
  if (result.seconds > 0) result.samples_per_s = result.samples / result.seconds;
  // What was dropped is no progress, and what the dead gave was not done at the rates of the
  // others.
  if (rates > 0) result.ideal_seconds = std::min(samples.since, computed) / rates;
  if (since > 0) result.share_of_ideal = result.ideal_seconds / since;
  result.evaluations = evaluations;
  if (!evaluations.empty()) {
    result.accuracy = evaluations.back().accuracy;
    result.loss = evaluations.back().loss;
  }
  if (target > 0) result.time_to_target = time_to(target, regression, evaluations);
  return result;
}

void to_json(nlohmann::json& json, const Result& result) {
  json = {{"seconds", result.seconds},
          {"samples", std::llround(result.samples)},
          {"rounds", std::llround(result.rounds)},
          {"accuracy", result.accuracy},
          {"loss", result.loss},
          {"time_to_target", nullptr},
          {"samples_per_s", result.samples_per_s},
          {"wait_share", result.wait_share},
          {"contributors_mean", result.contributors_mean},
          {"staleness_max", std::llround(result.staleness_max)},
          {"dropped", std::llround(result.dropped)},
          {"ideal_seconds", result.ideal_seconds},
          {"share_of_ideal", result.share_of_ideal},
          {"interrupted", result.interrupted},
          {"diverged", result.diverged},
          {"dead", result.dead},
          {"evaluations", result.evaluations}};
  if (result.time_to_target) json["time_to_target"] = *result.time_to_target;
}

Result parse_result(std::string_view text) {
  const nlohmann::json json = read_json(text);
  Members members(json);
  const auto figure = [&](const char* name) { return members.number(name, 0, kLargest); };
  const auto count = [&](const char* name) {
    return members.number(name, 0, double(kMostCounted));
  };
  Result result{.seconds = figure("seconds"),
                .samples = count("samples"),
                .rounds = count("rounds"),
                .accuracy = members.number("accuracy", 0, kMostAccuracy),
                .loss = members.number_or_null("loss", -kLargest, kLargest)};
  const double reached = members.number_or_null("time_to_target", 0, kLargest);
  if (!std::isnan(reached)) result.time_to_target = reached;
  result.samples_per_s = figure("samples_per_s");
  result.wait_share = figure("wait_share");
  result.contributors_mean = figure("contributors_mean");
  result.staleness_max = count("staleness_max");
  result.dropped = count("dropped");
  result.ideal_seconds = figure("ideal_seconds");
  result.share_of_ideal = figure("share_of_ideal");
  result.interrupted = members.flag("interrupted");
  result.diverged = members.flag("diverged");
  for (const nlohmann::json& rank : members.list("dead")) {
    const nlohmann::json as_member = {{"rank", rank}};
    result.dead.push_back(
        int(Members(as_member, "the list of the dead").whole("rank", 0, kMostRanks)));
  }
  for (const nlohmann::json& one : members.list("evaluations")) {
    result.evaluations.push_back(read_evaluation(one));
  }
  members.expect_no_others();
  return result;
}

Result read_result(const std::filesystem::path& file) {
  Result result;
  reading(
      file, [&] { result = parse_result(read_bytes(file, kLongestResult)); },
      "The file is damaged, or of another version: what the run came to is not known");
  return result;
}

}  // namespace syncopate::train

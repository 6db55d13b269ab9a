#include "train/result.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace syncopate::train {
namespace {

/// A loss that is no number, of a run that diverged, is written as null.
double number(const nlohmann::json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void to_json(nlohmann::json& json, const Evaluation& evaluation) {
  json = {{"seconds", evaluation.seconds},
          {"samples", std::llround(evaluation.samples)},
          {"accuracy", evaluation.accuracy},
          {"loss", evaluation.loss}};
}

void from_json(const nlohmann::json& json, Evaluation& evaluation) {
  json.at("seconds").get_to(evaluation.seconds);
  json.at("samples").get_to(evaluation.samples);
  json.at("accuracy").get_to(evaluation.accuracy);
  evaluation.loss = number(json.at("loss"));
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

void from_json(const nlohmann::json& json, Result& result) {
  json.at("seconds").get_to(result.seconds);
  json.at("samples").get_to(result.samples);
  json.at("rounds").get_to(result.rounds);
  json.at("accuracy").get_to(result.accuracy);
  result.loss = number(json.at("loss"));
  if (json.at("time_to_target").is_number()) result.time_to_target = json["time_to_target"];
  json.at("samples_per_s").get_to(result.samples_per_s);
  json.at("wait_share").get_to(result.wait_share);
  json.at("contributors_mean").get_to(result.contributors_mean);
  json.at("staleness_max").get_to(result.staleness_max);
  json.at("dropped").get_to(result.dropped);
  json.at("ideal_seconds").get_to(result.ideal_seconds);
  json.at("share_of_ideal").get_to(result.share_of_ideal);
  json.at("interrupted").get_to(result.interrupted);
  json.at("diverged").get_to(result.diverged);
  json.at("dead").get_to(result.dead);
  json.at("evaluations").get_to(result.evaluations);
}

}  // namespace syncopate::train

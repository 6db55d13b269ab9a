#include "train/config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "syncopate/error.h"

namespace syncopate::train {
namespace {

constexpr struct {
  const char* name;
  Until::Kind kind;
} kKinds[] = {{"samples", Until::Kind::samples},   {"epochs", Until::Kind::epochs},
              {"rounds", Until::Kind::rounds},     {"seconds", Until::Kind::seconds},
              {"accuracy", Until::Kind::accuracy}, {"loss", Until::Kind::loss}};

}  // namespace

Until Until::parse(std::string_view text) {
  for (const auto& [name, kind] : kKinds) {
    const std::string prefix = std::string(name) + ":";
    if (!text.starts_with(prefix)) continue;
    const std::string_view number = text.substr(prefix.size());
    Until until{.kind = kind};
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), until.amount);
    const bool read = error == std::errc() && end == number.data() + number.size();
    const bool counts = kind == Kind::samples || kind == Kind::rounds;
    if (!read || !std::isfinite(until.amount) || until.amount <= 0) continue;
    if (!counts || until.amount == std::floor(until.amount)) return until;
  }
  throw Error(
      ErrorCode::invalid_argument, fmt::format("'{}' does not say when to end", text),
      "Use samples:N, epochs:X, rounds:N, seconds:S, accuracy:X (per cent) or loss:X, all above "
      "0, samples and rounds in whole numbers");
}

std::string to_string(const Until& until) {
  for (const auto& [name, kind] : kKinds) {
    if (kind == until.kind) return fmt::format("{}:{}", name, until.amount);
  }
  return "?";
}

std::string kind_of(const Config& config) {
  return fmt::format("{} with {}, {} and {}", config.workload, config.model, config.optimizer,
                     config.strategy_in_full);
}

void to_json(nlohmann::json& json, const Config& config) {
  json = {{"workload", config.workload},
          {"model", config.model},
          {"strategy", config.strategy},
          {"strategy_in_full", config.strategy_in_full},
          {"ranks", config.ranks},
          {"batch", config.batch},
          {"optimizer", config.optimizer},
          {"rate", config.rate},
          {"momentum", config.momentum},
          {"weight_decay", config.weight_decay},
          {"nesterov", config.nesterov},
          {"schedule", config.schedule},
          {"imbalance", config.imbalance},
          {"pace_ms", config.pace_ms},
          {"until", to_string(config.until)},
          {"evaluate_every", config.evaluate_every},
          {"checkpoints", config.checkpoints},
          {"checkpoint_every", config.checkpoint_every},
          {"target", config.target},
          {"seed", config.seed},
          {"device", config.device},
          {"data", config.data},
          {"metrics", config.metrics}};
}

void from_json(const nlohmann::json& json, Config& config) {
  json.at("workload").get_to(config.workload);
  json.at("model").get_to(config.model);
  json.at("strategy").get_to(config.strategy);
  json.at("strategy_in_full").get_to(config.strategy_in_full);
  json.at("ranks").get_to(config.ranks);
  json.at("batch").get_to(config.batch);
  json.at("optimizer").get_to(config.optimizer);
  json.at("rate").get_to(config.rate);
  json.at("momentum").get_to(config.momentum);
  json.at("weight_decay").get_to(config.weight_decay);
  json.at("nesterov").get_to(config.nesterov);
  json.at("schedule").get_to(config.schedule);
  json.at("imbalance").get_to(config.imbalance);
  json.at("pace_ms").get_to(config.pace_ms);
  config.until = Until::parse(json.at("until").get<std::string>());
  json.at("evaluate_every").get_to(config.evaluate_every);
  json.at("checkpoints").get_to(config.checkpoints);
  json.at("checkpoint_every").get_to(config.checkpoint_every);
  json.at("target").get_to(config.target);
  json.at("seed").get_to(config.seed);
  json.at("device").get_to(config.device);
  json.at("data").get_to(config.data);
  json.at("metrics").get_to(config.metrics);
}

}  // namespace syncopate::train

#include "train/config.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "syncopate/error.h"
#include "syncopate/strategy.h"
#include "train/bytes.h"
#include "train/imbalance.h"
#include "train/json.h"
#include "train/limits.h"
#include "train/refusal.h"

namespace syncopate::train {
namespace {

constexpr struct {
  const char* name;
  Until::Kind kind;
} kKinds[] = {{"samples", Until::Kind::samples},   {"epochs", Until::Kind::epochs},
              {"rounds", Until::Kind::rounds},     {"seconds", Until::Kind::seconds},
              {"accuracy", Until::Kind::accuracy}, {"loss", Until::Kind::loss}};

constexpr std::uint64_t kLongestConfig = std::uint64_t{1} << 20;
/// For a unit of work.
constexpr double kLongestPaceMs = 3'600'000;

}  // namespace

void check_optimizer(const Config& config) {
  const std::string& name = config.optimizer;
  if (name != "sgd" && name != "adam" && name != "adamw") {
    refuse(fmt::format("there is no optimizer '{}'", name), "Use sgd, adam or adamw");
  }
  // Of the kind that weights are.
  const auto is_float = [](double value) {
    return std::abs(value) <= double(std::numeric_limits<float>::max());
  };
  if (!(config.rate > 0) || !is_float(config.rate)) {
    refuse(fmt::format("the learning rate is {}", config.rate), "Give a number above 0");
  }
  if (!(config.momentum >= 0 && config.momentum < 1)) {
    refuse(fmt::format("the momentum is {}", config.momentum), "Give a number from 0 to below 1");
  }
  if (!(config.weight_decay >= 0) || !is_float(config.weight_decay)) {
    refuse(fmt::format("the weight decay is {}", config.weight_decay),
           "Give a number that is not negative");
  }
  if (config.nesterov && (name != "sgd" || config.momentum == 0)) {
    refuse("Nesterov's momentum was asked for without momentum",
           "Use it with --optimizer sgd and --momentum above 0");
  }
}

void check_settings(const Config& config) {
  if (config.ranks < 1 || config.ranks > kMostRanks) {
    refuse(fmt::format("the number of ranks is {}", config.ranks),
           fmt::format("Give a number from 1 to {}", kMostRanks));
  }
  spell_out_strategy(config.strategy);
  check_strategy(config.strategy_in_full, config.ranks);
  check_optimizer(config);
  if (config.batch < 1) refuse(fmt::format("the batch is {}", config.batch), "Give 1 or more");
  if (config.schedule != "constant" && config.schedule != "cosine") {
    refuse(fmt::format("there is no schedule '{}'", config.schedule), "Use constant or cosine");
  }
  const Until::Kind end = config.until.kind;
  const bool counts =
      end == Until::Kind::samples || end == Until::Kind::epochs || end == Until::Kind::rounds;
  if (config.schedule == "cosine" && !counts) {
    refuse("a cosine schedule needs to know how long the run is",
           "End it by --until samples:N, epochs:X or rounds:N");
  }
  if (config.device != "cpu" && config.device != "cuda" && config.device != "mixed") {
    refuse(fmt::format("there is no device '{}'", config.device),
           "Use cpu, cuda, or mixed (rank 0 on the GPU, the others on CPUs)");
  }
  if (!(config.pace_ms >= 0 && config.pace_ms <= kLongestPaceMs)) {
    refuse(fmt::format("the pace is {} ms", config.pace_ms), "Give a time from 0 to an hour");
  }
  const bool judged = end == Until::Kind::accuracy || end == Until::Kind::loss;
  if (judged && config.evaluate_every == 0) {
    refuse(fmt::format("the run ends by {} but is never evaluated", to_string(config.until)),
           "Evaluate now and then (--evaluate-every SAMPLES)");
  }
  for (const std::int64_t every : {config.evaluate_every, config.checkpoint_every}) {
    if (every >= -1 && every <= kMostSamples) continue;
    refuse(fmt::format("{} samples were to lie between two evaluations or checkpoints", every),
           fmt::format("Give a number from 0 to {}", kMostSamples));
  }
  if (!std::isfinite(config.target)) refuse("the target is no number", "Give a number");
  if (config.seed > std::uint64_t(kMostCounted)) {
    refuse(fmt::format("the seed is {}", config.seed),
           fmt::format("Give a number from 0 to {}", kMostCounted));
  }
  Imbalance::parse(config.imbalance);
}

Until Until::parse(std::string_view text) {
  for (const auto& [name, kind] : kKinds) {
    const std::string prefix = std::string(name) + ":";
    if (!text.starts_with(prefix)) continue;
    const std::string_view number = text.substr(prefix.size());
    const auto amount = base::number<double>(number);
    const bool counts = kind == Kind::samples || kind == Kind::rounds;
    if (!amount || !std::isfinite(*amount) || *amount <= 0) continue;
    if (!counts || *amount == std::floor(*amount)) return {.kind = kind, .amount = *amount};
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

std::string config_text(const Config& config) { return nlohmann::json(config).dump(2) + "\n"; }

Config parse_config(std::string_view text) {
  const nlohmann::json json = read_json(text);
  Members members(json);
  const auto number = [&](const char* name) { return members.number(name, -kLargest, kLargest); };
  const auto samples = [&](const char* name) { return members.whole(name, -1, kMostSamples); };
  Config config{.workload = members.text("workload"),
                .model = members.text("model"),
                .strategy = members.text("strategy"),
                .strategy_in_full = members.text("strategy_in_full"),
                .ranks = int(members.whole("ranks", 1, kMostRanks)),
                .batch = members.whole("batch", 1, kMostSamples),
                .optimizer = members.text("optimizer"),
                .rate = number("rate"),
                .momentum = number("momentum"),
                .weight_decay = number("weight_decay"),
                .nesterov = members.flag("nesterov"),
                .schedule = members.text("schedule"),
                .imbalance = members.text("imbalance"),
                .pace_ms = number("pace_ms"),
                .until = Until::parse(members.text("until")),
                .evaluate_every = samples("evaluate_every"),
                .checkpoints = members.flag("checkpoints"),
                .checkpoint_every = samples("checkpoint_every"),
                .target = number("target"),
                .seed = std::uint64_t(members.whole("seed", 0, kMostCounted)),
                .device = members.text("device"),
                .data = members.text("data"),
                .metrics = members.flag("metrics")};
  members.expect_no_others();
  return config;
}

Config read_config(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "config.json";
  std::error_code none;
  if (!std::filesystem::exists(file, none)) {
    refuse(
        fmt::format("{} is not the directory of a run: it has no config.json", directory.string()),
        "Name a directory that syncopate train has made");
  }
  Config config;
  reading(file, [&] {
    config = parse_config(read_bytes(file, kLongestConfig));
    check_settings(config);
  });
  return config;
}

}  // namespace syncopate::train

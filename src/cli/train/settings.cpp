#include "cli/train/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/durations.h"
#include "cli/console/arguments.h"
#include "cli/console/option.h"
#include "cli/console/phrases.h"
#include "fabric/plugin.h"
#include "launch/launcher.h"
#include "syncopate/strategy.h"
#include "train/workload.h"

namespace syncopate::cli {
namespace {

using train::kMostSamples;
/// What Adam's authors suggest. The rates of the workloads are for sgd, and far too high for it.
constexpr double kRateOfAdam = 1e-3;

bool is_adam(const std::string& optimizer) { return optimizer == "adam" || optimizer == "adamw"; }

double number(const char* option, const std::string& text) {
  if (const auto value = base::number<double>(text); value && std::isfinite(*value)) {
    return *value;
  }
  throw UsageError(fmt::format("{} is '{}'; give a finite number", option, text));
}

void check_texts(const TypedSettings& typed) {
  const auto check = [](const char* option, const std::optional<std::string>& text) {
    if (text) check_text(option, *text);
  };
  check("--workload", typed.workload);
  check("--model", typed.model);
  check("-n", typed.ranks);
  check("--batch", typed.batch);
  check("--optimizer", typed.optimizer);
  check("--rate", typed.rate);
  check("--momentum", typed.momentum);
  check("--weight-decay", typed.weight_decay);
  check("--schedule", typed.schedule);
  check("--imbalance", typed.imbalance);
  check("--pace", typed.pace);
  check("--until", typed.until);
  check("--evaluate-every", typed.evaluate_every);
  check("--checkpoint-every", typed.checkpoint_every);
  check("--target", typed.target);
  check("--seed", typed.seed);
  check("--device", typed.device);
  check("--data", typed.data);
  check("--runs", typed.runs);
  check("--timeout", typed.timeout);
}

double target(const std::string& text) {
  const double value = number("--target", text);
  if (value < 0) throw UsageError(fmt::format("--target is {}; give 0 or more", value));
  return value;
}

double pace_ms(const std::string& text) {
  if (text == "off" || text == "0") return 0;
  if (const auto pace = base::duration(text)) return double(pace->count()) / 1e6;
  throw UsageError(
      fmt::format("--pace is '{}'; give a time for each unit of work such as 0.3ms, or off", text));
}

/// Ranks that are there already cannot be more or fewer.
int read_ranks(const std::optional<std::string>& typed, int usual, const JobRunner& runner) {
  const auto& launcher = runner.launcher();
  const int most = std::max(launch::kMostRanks, launcher ? launcher->ranks : 0);
  const int asked =
      typed ? int(whole_number("-n", *typed, 1, most)) : (launcher ? launcher->ranks : usual);
  if (!launcher || asked == launcher->ranks) return asked;
  throw UsageError(fmt::format(
      "-n is {}, and {} started {}; leave -n out, or set {}=none to have ranks "
      "started on this machine instead",
      asked, to_string(launcher->kind), counted(launcher->ranks, "rank"), fabric::kFabricVariable));
}

std::string default_data() {
  const char* named = std::getenv("SYNCOPATE_DATA");
  return named != nullptr ? named : "data";
}

void add_training(CLI::App& command, TypedSettings& typed) {
  constexpr const char* kGroup = "Training";
  const auto add = [&](const char* name, std::optional<std::string>& value, const char* type,
                       const char* text) {
    add_option(command, name, value, type, text)->group(kGroup);
  };
  add("-w,--workload", typed.workload, "NAME", "What to train; 'syncopate workloads' lists them");
  add("--model", typed.model, "NAME", "Model of the workload; its first if not given");
  add("-n,--ranks", typed.ranks, "N",
      "Ranks to start; 8 if not given. Under mpirun, srun or torchrun: those that it started");
  add("--batch", typed.batch, "N", "Samples per rank and step");
  add("--optimizer", typed.optimizer, "NAME", "Optimizer: sgd, adam or adamw");
  add("--rate", typed.rate, "X", "Learning rate; 0.001 with adam and adamw if not given");
  add("--momentum", typed.momentum, "X", "Momentum of sgd; adam and adamw have their own");
  command.add_flag("--nesterov", typed.nesterov, "Nesterov's momentum")->group(kGroup);
  add("--weight-decay", typed.weight_decay, "X", "Weight decay of the optimizer");
  add("--schedule", typed.schedule, "NAME",
      "How the learning rate goes: constant, or cosine, which falls over the whole run");
  add("--seed", typed.seed, "N",
      "Seed of weights, order of samples, draws and imbalance; 1 if not given");
  add("--device", typed.device, "NAME",
      "Where ranks compute: cpu, cuda, or mixed (rank 0 on the GPU, the others on the CPU)");
  add("--data", typed.data, "DIR", "Data sets; SYNCOPATE_DATA or ./data if not given");
  add("--until", typed.until, "WHEN",
      "When to end: samples:N, epochs:X, rounds:N, seconds:S, accuracy:X or loss:X");
}

void add_unequal_ranks(CLI::App& command, TypedSettings& typed) {
  constexpr const char* kGroup = "Unequal ranks";
  add_option(command, "--imbalance", typed.imbalance, "FORM",
             "How ranks are delayed: none, random:KxTIME, shift:MIN..MAX, persistent:RANK*FACTOR, "
             "lognormal:MEDIAN,SIGMA or trace:FILE; a time is such as 20ms")
      ->group(kGroup);
  add_option(
      command, "--pace", typed.pace, "TIME",
      "A step lasts at least this long per unit of work (sample, frame): the rank sleeps the "
      "rest, as if it had a device of its own. off: as fast as it goes. If not given: the "
      "workload's own where ranks outnumber cores, otherwise off")
      ->group(kGroup);
}

void add_what_is_kept(CLI::App& command, TypedSettings& typed) {
  constexpr const char* kGroup = "What is kept";
  add_option(command, "--evaluate-every", typed.evaluate_every, "N",
             "Samples of all ranks between two evaluations; a quarter of an epoch if not given")
      ->group(kGroup);
  add_option(command, "--target", typed.target, "X",
             "Accuracy in per cent (loss in a regression); the run notes when it was reached")
      ->group(kGroup);
  add_option(command, "--runs", typed.runs, "DIR",
             "Folder in which run directories are made; ./runs if not given")
      ->group(kGroup);
  command.add_flag("--no-metrics", typed.no_metrics, "Write no metrics.jsonl")->group(kGroup);
}

/// What the optimizer is given: by the workload, the number of samples in a step, and the user.
void read_optimizer(const TypedSettings& typed, const train::Defaults& usual,
                    train::Config& config) {
  if (is_adam(config.optimizer)) {
    if (typed.momentum) {
      throw UsageError(fmt::format(
          "--momentum is of sgd, and {} has its own kind; leave it out, or use --optimizer sgd",
          config.optimizer));
    }
    config.rate = kRateOfAdam;
    config.momentum = 0;
  } else if (usual.rate_for > 0) {
    const double samples = double(config.ranks) * double(config.batch);
    config.rate *= std::min(1.0, samples / double(usual.rate_for));
  }
  if (typed.rate) config.rate = number("--rate", *typed.rate);
  if (typed.momentum) config.momentum = number("--momentum", *typed.momentum);
  if (typed.weight_decay) config.weight_decay = number("--weight-decay", *typed.weight_decay);
}

}  // namespace

void add_settings(CLI::App& command, TypedSettings& typed) {
  add_training(command, typed);
  add_unequal_ranks(command, typed);
  add_what_is_kept(command, typed);
  command.add_flag("--survive", typed.survive, "Go on with the others when a rank dies");
  add_option(command, "--timeout", typed.timeout, "S",
             "End the job after this many seconds, with code 124");
}

train::Config read_settings(const TypedSettings& typed, const std::string& strategy,
                            const JobRunner& runner) {
  check_texts(typed);
  if (!typed.workload) {
    throw UsageError("--workload is missing; 'syncopate workloads' lists those there are");
  }
  const train::Workload& workload = train::workload(*typed.workload);
  const train::Defaults& usual = workload.defaults;
  train::Config config{.workload = workload.name,
                       .model = typed.model.value_or(workload.models.front()),
                       .strategy = strategy,
                       .strategy_in_full = spell_out_strategy(strategy),
                       .batch = usual.batch,
                       .optimizer = typed.optimizer.value_or(usual.optimizer),
                       .rate = usual.rate,
                       .momentum = usual.momentum,
                       .weight_decay = usual.weight_decay,
                       .nesterov = typed.nesterov,
                       .schedule = typed.schedule.value_or("constant"),
                       .imbalance = typed.imbalance.value_or("none"),
                       .until = {.kind = train::Until::Kind::epochs, .amount = usual.epochs},
                       .target = workload.regression ? usual.target : 100 * usual.target,
                       .device = typed.device.value_or("cpu"),
                       .data = typed.data.value_or(default_data()),
                       .metrics = !typed.no_metrics};
  config.ranks = read_ranks(typed.ranks, config.ranks, runner);
  if (typed.batch) config.batch = whole_number("--batch", *typed.batch, 1, kMostSamples);
  read_optimizer(typed, usual, config);
  if (typed.until) config.until = train::Until::parse(*typed.until);
  if (typed.target) config.target = target(*typed.target);
  if (typed.seed) config.seed = std::uint64_t(whole_number("--seed", *typed.seed, 0, kMostSamples));
  config.pace_ms = runner.crowded(config.ranks) ? usual.pace_ms : 0;
  if (typed.pace) config.pace_ms = pace_ms(*typed.pace);
  if (typed.evaluate_every) {
    config.evaluate_every =
        whole_number("--evaluate-every", *typed.evaluate_every, 0, kMostSamples);
  }
  if (typed.checkpoint_every) {
    config.checkpoint_every =
        whole_number("--checkpoint-every", *typed.checkpoint_every, 0, kMostSamples);
  }
  return config;
}

train::JobOptions read_job_options(const TypedSettings& typed) {
  train::JobOptions options{.runs = typed.runs.value_or("runs"), .survive = typed.survive};
  if (typed.timeout) {
    options.timeout_seconds = seconds("--timeout", *typed.timeout, launch::kMostSeconds);
  }
  return options;
}

std::string describe(const train::Config& config, const JobRunner& runner) {
  const train::Workload& workload = train::workload(config.workload);
  std::string text = fmt::format(
      "{} ({}), {}{} x {} samples, {} at rate {}{}{}, until {}, imbalance {}", config.workload,
      config.model, counted(config.ranks, "rank"),
      runner.machines() > 1 ? fmt::format(" on {} machines", runner.machines()) : "", config.batch,
      config.optimizer, config.rate,
      config.schedule == "cosine" ? " that falls along a cosine" : "",
      config.optimizer == "sgd"
          ? fmt::format(", momentum {}{}", config.momentum, config.nesterov ? " (Nesterov)" : "")
          : "",
      to_string(config.until), config.imbalance);
  if (config.pace_ms > 0) {
    text += fmt::format(
        "\nEach {} takes at least {} ms of a step: the rest is slept, so that {} on {} "
        "take the time they would take on devices of their own (--pace).",
        workload.unit, config.pace_ms, counted(config.ranks, "rank"),
        counted(runner.cores(), "core"));
  }
  return text;
}

}  // namespace syncopate::cli

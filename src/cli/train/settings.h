// The settings of a training run on the command line. What is not given is what suits the workload.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/train/job_runner.h"
#include "train/config.h"
#include "train/training_job.h"

namespace syncopate::cli {

/// What was typed, before it is checked.
struct TypedSettings {
  std::optional<std::string> workload, model, ranks, batch, optimizer, rate, momentum, weight_decay,
      schedule, imbalance, pace, until, evaluate_every, checkpoint_every, target, seed, device,
      data, runs, timeout;
  bool nesterov = false;
  bool survive = false;
  bool no_metrics = false;
};

void add_settings(CLI::App& command, TypedSettings& typed);

/// The run of `runner` that was asked for, with `strategy`. Throws UsageError or Error.
train::Config read_settings(const TypedSettings& typed, const std::string& strategy,
                            const JobRunner& runner);
train::JobOptions read_job_options(const TypedSettings& typed);

/// How the run is set up, in two lines for the reader of its figures.
std::string describe(const train::Config& config, const JobRunner& runner);

}  // namespace syncopate::cli

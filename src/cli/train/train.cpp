// `syncopate train`: one run, and `rank`: one rank of it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "cli/console/arguments.h"
#include "cli/console/option.h"
#include "cli/console/phrases.h"
#include "cli/console/program.h"
#include "cli/train/commands.h"
#include "cli/train/settings.h"
#include "syncopate/error.h"
#include "train/checkpoint.h"
#include "train/training_job.h"
#include "train/workload.h"

namespace syncopate::cli {
namespace {

constexpr const char* kHowTrainWorks = R"(Examples:
  syncopate train --workload hyperplane --strategy eager-solo -n 8 --imbalance random:1x20ms
  syncopate train --workload fashion --strategy wagma:4:10 --until accuracy:88
  syncopate train --resume runs/latest --until epochs:6
  mpirun -n 16 syncopate train --workload hyperplane --strategy eager-solo

Under mpirun, srun or torchrun the processes that it started are the ranks of one run.
The run directory RUNS/<time>-<workload>-<strategy> gets config.json, metrics.jsonl (a line per
exchange and rank), result.json, model.safetensors and checkpoint/. Ctrl-C ends the run cleanly,
with a checkpoint. Evaluating and saving do not count as training time.)";

void report(const train::Finished& finished, const train::Config& config, bool survive,
            const JobRunner& runner) {
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
  const std::string directory = finished.directory.string();
  if (!finished.result) {
    const bool saved = train::has_checkpoint(finished.directory);
    fmt::print(
        "The run did not come to its end; {}\n",
        base::printable(saved ? runner.go_on(directory) : "what it wrote is in " + directory));
    return;
  }
  const train::Result& result = *finished.result;
  const bool regression = train::workload(config.workload).regression;
  fmt::print("{}: {:.0f} samples in {:.1f} s ({:.0f}/s){}, test loss {:.4f}\n", config.strategy,
             result.samples, result.seconds, result.samples_per_s,
             regression ? "" : fmt::format(", accuracy {:.2f} %", result.accuracy), result.loss);
  if (result.time_to_target) {
    fmt::print("{} was reached after {:.1f} s\n",
               regression ? fmt::format("a loss of {:g}", config.target)
                          : fmt::format("{:g} %", config.target),
               *result.time_to_target);
  }
  fmt::print(
      "waiting {:.1f} % of the time; {:.1f} of {} ranks in a round; largest staleness {:.0f}; "
      "{:.0f} % of the ideal speed\n",
      100 * result.wait_share, result.contributors_mean, config.ranks, result.staleness_max,
      100 * result.share_of_ideal);
  if (result.dropped > 0) fmt::print("{:.0f} gradients were dropped\n", result.dropped);
  if (!result.dead.empty()) fmt::print("died on the way: {}\n", base::names_of(result.dead));
  const bool early = result.interrupted || (!result.dead.empty() && !survive);
  fmt::print("{}\n",
             base::printable(early ? "ended early; " + runner.go_on(directory) : directory));
}

/// Otherwise a user would hear of it only from a loss that reads nan.
void explain_divergence(const train::Finished& finished, const train::Config& config) {
  fmt::print(stderr,
             "syncopate: the run diverged: by round {:.0f} its loss {}. Try a --rate below {:g}\n",
             finished.result->rounds,
             std::isfinite(finished.result->loss)
                 ? fmt::format("had grown to {:.3g}", finished.result->loss)
                 : "was no number any more",
             config.rate);
}

/// How far the run had come, and what goes on otherwise than before.
void report_resumption(const train::Position& before, const train::Config& config) {
  fmt::print("goes on after round {:.0f}, {:.0f} samples and {:.1f} s\n", before.rounds,
             before.samples, before.seconds);
  if (before.ranks == config.ranks) return;
  fmt::print(
      "with {} instead of {}: the batch of all changes from {} samples to {}, the rate stays {}, "
      "and so does the batch of a rank\n",
      counted(config.ranks, "rank"), before.ranks, before.ranks * config.batch,
      config.ranks * config.batch, config.rate);
}

/// A run that is resumed has its settings already: only when it ends, by how many and how fast may
/// change.
train::Config resumed(const TypedSettings& typed, const std::optional<std::string>& strategy,
                      const std::string& directory, const JobRunner& runner) {
  if (typed.runs) {
    throw UsageError("--runs is for new runs, and --resume goes on in " + directory +
                     "; leave one of them out");
  }
  if (directory.empty()) throw UsageError("--resume is empty; name the directory of a run");
  const train::Config kept = train::read_config(directory);
  train::Config asked = kept;
  TypedSettings all = typed;
  if (!all.workload) all.workload = kept.workload;
  const train::Config read = read_settings(all, strategy.value_or(kept.strategy), runner);
  const nlohmann::json was = kept, now = read;
  const std::pair<const char*, bool> given[] = {
      {"workload", bool(typed.workload)},   {"model", bool(typed.model)},
      {"strategy_in_full", bool(strategy)}, {"batch", bool(typed.batch)},
      {"optimizer", bool(typed.optimizer)}, {"rate", bool(typed.rate)},
      {"momentum", bool(typed.momentum)},   {"weight_decay", bool(typed.weight_decay)},
      {"schedule", bool(typed.schedule)},   {"imbalance", bool(typed.imbalance)},
      {"seed", bool(typed.seed)},           {"device", bool(typed.device)},
      {"nesterov", typed.nesterov}};
  for (const auto& [name, is_given] : given) {
    if (!is_given || was[name] == now[name]) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the run in {} has {} {}, and {} was asked for", directory, name,
                            was[name].dump(), now[name].dump()),
                "Leave it out to go on as before, or start a new run without --resume");
  }
  if (typed.ranks || runner.launcher()) asked.ranks = read.ranks;
  if (typed.until) asked.until = read.until;
  if (typed.pace) asked.pace_ms = read.pace_ms;
  if (typed.evaluate_every) asked.evaluate_every = read.evaluate_every;
  if (typed.checkpoint_every) asked.checkpoint_every = read.checkpoint_every;
  if (typed.target) asked.target = read.target;
  if (typed.data) asked.data = read.data;
  if (typed.no_metrics) asked.metrics = false;
  return asked;
}

}  // namespace

void add_train(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("train", "Train a workload with a strategy");
  auto typed = std::make_shared<TypedSettings>();
  auto strategy = std::make_shared<std::optional<std::string>>();
  auto resume = std::make_shared<std::optional<std::string>>();
  add_option(*command, "-s,--strategy", *strategy, "NAME",
             "How ranks train together; sync if not given");
  add_option(*command, "--resume", *resume, "RUN", "Go on with the run in this directory");
  add_settings(*command, *typed);
  add_option(
      *command, "--checkpoint-every", typed->checkpoint_every, "N",
      "Samples of all ranks between two checkpoints; an epoch if not given, 0: only at the end")
      ->group("What is kept");
  command->footer(kHowTrainWorks);
  command->callback([=, &exit_code] {
    JobRunner runner;
    const train::Config config = runner.decide([&] {
      read_job_options(*typed);
      return *resume ? resumed(*typed, *strategy, **resume, runner)
                     : read_settings(*typed, strategy->value_or("sync"), runner);
    });
    const train::Position before = runner.check(config, *resume);
    if (runner.speaks()) {
      fmt::print("{}\n", base::printable(describe(config, runner)));
      if (*resume) report_resumption(before, config);
      std::fflush(stdout);
    }
    const train::JobOptions options = read_job_options(*typed);
    const train::Finished finished =
        *resume ? runner.resume(**resume, config, options) : runner.run(config, options);
    if (runner.speaks()) report(finished, config, options.survive, runner);
    exit_code = finished.exit_code;
    if (finished.result && finished.result->diverged) {
      if (runner.speaks()) explain_divergence(finished, config);
      if (exit_code == 0) exit_code = kFailed;
    }
  });
}

void add_rank(CLI::App& program) {
  auto* command = program.add_subcommand(train::kRankCommand)->group("");
  struct Typed {
    std::string directory, label;
    bool resume = false;
  };
  auto typed = std::make_shared<Typed>();
  command->add_option("directory", typed->directory)->required();
  command->add_option("--label", typed->label);
  command->add_flag("--resume", typed->resume);
  command->callback([typed] { train::run_rank(typed->directory, typed->resume, typed->label); });
}

}  // namespace syncopate::cli

#include "train/training_job.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "launch/launcher.h"
#include "syncopate/error.h"
#include "syncopate/strategy.h"
#include "train/checkpoint.h"
#include "train/durable_file.h"
#include "train/injected_delays.h"
#include "train/metrics.h"
#include "train/optimizers.h"
#include "train/refusal.h"
#include "train/workload.h"

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

/// A checkpoint of a large model on a slow disk takes its time after Ctrl-C.
constexpr double kKillAfterSeconds = 60;

std::string file_name(std::string text) {
  for (char& c : text) {
    if (c == ':' || c == '=' || c == '/') c = '-';
  }
  return text;
}

/// Makes RUNS/latest name the run, in one step. Throws std::system_error.
void name_latest(const fs::path& directory, const fs::path& runs) {
  // Made where no other job makes one, and then moved to its place.
  const fs::path fresh = directory / "latest";
  make_link(directory.filename(), fresh);
  try {
    rename_file(fresh, runs / "latest");
  } catch (const std::system_error&) {
    remove_whole(fresh);
    throw;
  }
}

NewRun make_directory(const Config& config, const fs::path& runs) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  const std::string name =
      fmt::format("{:%Y-%m-%d-%H%M%S}-{}-{}", local, config.workload, file_name(config.strategy));
  try {
    make_folders(runs);
    NewRun run{.directory = runs / name};
    for (int attempt = 2; !make_folder(run.directory); ++attempt) {
      run.directory = runs / fmt::format("{}-{}", name, attempt);
    }
    sync_folder(runs);
    return run;
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::environment,
                fmt::format("no directory for the run can be made in {}: {}", runs.string(),
                            error.code().message()),
                "Choose another place with --runs");
  }
}

void write_config(const Config& config, const fs::path& directory) {
  try {
    replace_file(directory / "config.json", config_text(config));
  } catch (const std::exception& error) {
    throw Error(
        ErrorCode::environment,
        fmt::format("{} cannot be written: {}", (directory / "config.json").string(), error.what()),
        "Make room on the disk, or choose another place with --runs");
  }
}

/// Whether a part of a run did, as far as its result can be read.
bool diverged(const fs::path& result) {
  try {
    return read_result(result).diverged;
  } catch (const Error&) {
    return false;
  }
}

/// While it lives, what ends a process is held back from those that are started.
class EndingsHeldBack {
 public:
  EndingsHeldBack() {
    sigset_t endings;
    ::sigemptyset(&endings);
    for (const int signal : {SIGINT, SIGTERM, SIGALRM}) ::sigaddset(&endings, signal);
    ::pthread_sigmask(SIG_BLOCK, &endings, &before_);
  }
  ~EndingsHeldBack() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndingsHeldBack(const EndingsHeldBack&) = delete;
  EndingsHeldBack& operator=(const EndingsHeldBack&) = delete;

 private:
  sigset_t before_{};
};

/// What depends on how many ranks there are.
void check_ranks(const Config& config) {
  check_strategy(config.strategy_in_full, config.ranks);
  InjectedDelays(Imbalance::parse(config.imbalance), config.ranks, 0, config.seed);
}

/// The same for a run that goes on, whose strategy and imbalance cannot change.
void check_ranks_of_resumed(const Config& config, int before) {
  try {
    check_ranks(config);
  } catch (const Error& error) {
    if (config.ranks == before) throw;
    throw Error(
        error.code(),
        fmt::format("the run cannot go on with -n {}: {}", config.ranks, error.what_happened()),
        fmt::format("Resume it with as many as before (-n {}), or start a new run", before));
  }
}

/// Checks the settings, and makes the task, which reads the data: what is wrong with them is said
/// once and not by every rank.
std::unique_ptr<Task> checked(const Config& config) {
  const Workload& chosen = workload(config.workload);
  check_settings(config);
  check_ranks(config);
  if (config.device != "cpu" && !torch::cuda::is_available()) {
    throw Error(ErrorCode::environment, "there is no CUDA device that libtorch can use",
                "Train with --device cpu");
  }
  if (config.until.kind == Until::Kind::accuracy && chosen.regression) {
    refuse(fmt::format("{} is a regression, which has no accuracy", config.workload),
           "End it by --until loss:X");
  }
  const double accuracy =
      config.until.kind == Until::Kind::accuracy ? config.until.amount : config.target;
  if (!chosen.regression && accuracy > 100) {
    refuse(fmt::format("no accuracy is {} %", accuracy), "Give 100 or less");
  }
  auto task = make_task(chosen, {.data = config.data, .model = config.model, .seed = config.seed});
  if (config.batch > task->train_samples()) {
    refuse(fmt::format("the batch is {}, and {} has {} samples to train with", config.batch,
                       config.workload, task->train_samples()),
           "Give as many or fewer");
  }
  return task;
}

}  // namespace

void check(const Config& config) { checked(config); }

Position check_resumed(const fs::path& directory, const Config& config) {
  check_ranks_of_resumed(config, read_config(directory).ranks);
  const std::unique_ptr<Task> task = checked(config);
  const double epoch = double(task->train_samples());
  try {
    settle_checkpoint(directory);
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::environment,
                fmt::format("the checkpoint in {} could not be put in its place: {}",
                            directory.string(), error.what()),
                "See that you may write in the directory; the checkpoint is unharmed");
  }
  if (was_interrupted_in_first_checkpoint(directory)) {
    refuse(fmt::format("{} has no checkpoint that is whole: the run ended while its first one was "
                       "being written",
                       directory.string()),
           "Start the run anew");
  }
  if (!has_checkpoint(directory)) {
    refuse(fmt::format("{} has no checkpoint", directory.string()),
           "Resume a run that was saved (--checkpoint-every, or ended with Ctrl-C)");
  }
  const auto optimizer = make_optimizer(config, task->model().parameters());
  const Position position =
      saved_position(directory, kind_of(config), {*optimizer, task->model().buffers()});
  if (!has_ended(config.until, epoch, position)) return position;
  // It was saved at its end and then died: what comes after, the result last, is still to do.
  if (!fs::exists(directory / kResultFile)) return position;
  refuse(fmt::format("the run in {} is past the end {}: it has trained {:.0f} rounds, "
                     "{:.0f} samples or {:.3g} epochs, for {:.1f} s",
                     directory.string(), to_string(config.until), position.rounds, position.samples,
                     position.samples / epoch, position.seconds),
         "Move the end on with --until to train it further");
}

Finished start_ranks(const fs::path& directory, const Config& config, const JobOptions& options,
                     bool resume) {
  // A rank that is told to end before it can hear of it, while libraries are loaded, would die and
  // take what it had under way with it: it hears of it afterwards (catch_signals).
  const EndingsHeldBack until_ranks_listen;
  std::vector<std::string> command = launch::this_program({kRankCommand, directory.string()});
  if (resume) command.emplace_back("--resume");
  if (!options.label.empty()) command.insert(command.end(), {"--label", options.label});
  const launch::LaunchResult ended = launch::launch({.ranks = config.ranks,
                                                     .command = command,
                                                     .timeout_seconds = options.timeout_seconds,
                                                     .kill_after_seconds = kKillAfterSeconds,
                                                     .survive = options.survive,
                                                     .output = launch::Output::raw});
  Finished finished{.exit_code = ended.exit_code, .directory = directory};
  if (fs::exists(directory / kResultFile)) finished.result = read_result(directory / kResultFile);
  return finished;
}

NewRun make_run(const Config& config, const fs::path& runs) {
  NewRun run = make_directory(config, runs);
  write_config(config, run.directory);
  // The latest is what --resume goes on with, which runs of a comparison cannot be.
  if (!config.checkpoints) return run;
  try {
    name_latest(run.directory, runs);
  } catch (const std::system_error& error) {
    run.warning =
        fmt::format("{} could not be made to name this run: {}. Use {} instead",
                    (runs / "latest").string(), error.code().message(), run.directory.string());
  }
  return run;
}

void reopen_run(const fs::path& directory, const Config& config) {
  const fs::path last = directory / kResultFile;
  cut_metrics(directory / "metrics.jsonl", saved_clocks(directory));
  write_config(config, directory);
  if (!fs::exists(last)) return;
  try {
    // What a part that diverged came to is not what the run goes on from.
    if (diverged(last)) {
      remove_whole(last);
      sync_folder(directory);
    } else {
      rename_file(last, directory / kEarlierResultFile);
    }
  } catch (const std::system_error& error) {
    // If it stayed it would be taken for what comes out now.
    throw Error(ErrorCode::environment,
                fmt::format("{} cannot be put aside: {}", last.string(), error.code().message()),
                "See that you may write in the directory; the run is unharmed");
  }
}

}  // namespace syncopate::train

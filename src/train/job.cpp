#include "train/job.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "launch/launcher.h"
#include "syncopate/error.h"
#include "syncopate/strategy.h"
#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/optimizers.h"
#include "train/refusal.h"
#include "train/replace_file.h"
#include "train/weather.h"
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

fs::path make_directory(const Config& config, const fs::path& runs) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  const std::string name =
      fmt::format("{:%Y-%m-%d-%H%M%S}-{}-{}", local, config.workload, file_name(config.strategy));
  std::error_code error;
  fs::create_directories(runs, error);
  for (int attempt = 1; !error; ++attempt) {
    const fs::path directory = runs / (attempt == 1 ? name : fmt::format("{}-{}", name, attempt));
    if (!fs::create_directory(directory, error)) continue;
    // The latest is what --resume goes on with, which runs of a comparison cannot be.
    if (!config.checkpoints) return directory;
    fs::remove(runs / "latest", error);
    fs::create_directory_symlink(directory.filename(), runs / "latest", error);
    return directory;
  }
  throw Error(
      ErrorCode::environment,
      fmt::format("no directory for the run can be made in {}: {}", runs.string(), error.message()),
      "Choose another place with --runs");
}

void write_config(const Config& config, const fs::path& directory) {
  const fs::path file = directory / "config.json";
  try {
    replace_file(file, config_text(config));
  } catch (const std::exception&) {
    throw Error(ErrorCode::environment, fmt::format("{} cannot be written", file.string()),
                "Make room on the disk, or choose another place with --runs");
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

/// Checks the settings, and makes the task, which reads the data: what is wrong with them is said
/// once and not by every rank.
std::unique_ptr<Task> checked(const Config& config) {
  const Workload& chosen = workload(config.workload);
  check_strategy(config.strategy_in_full, config.ranks);
  check_optimizer(config);
  if (config.batch < 1) refuse(fmt::format("the batch is {}", config.batch), "Give 1 or more");
  if (config.schedule != "constant" && config.schedule != "cosine") {
    refuse(fmt::format("there is no schedule '{}'", config.schedule), "Use constant or cosine");
  }
  const bool counts = config.until.kind == Until::Kind::samples ||
                      config.until.kind == Until::Kind::epochs ||
                      config.until.kind == Until::Kind::rounds;
  if (config.schedule == "cosine" && !counts) {
    refuse("a cosine schedule needs to know how long the run is",
           "End it by --until samples:N, epochs:X or rounds:N");
  }
  if (config.device != "cpu" && config.device != "cuda" && config.device != "mixed") {
    refuse(fmt::format("there is no device '{}'", config.device),
           "Use cpu, cuda, or mixed (rank 0 on the GPU, the others on CPUs)");
  }
  if (config.device != "cpu" && !torch::cuda::is_available()) {
    throw Error(ErrorCode::environment, "there is no CUDA device that libtorch can use",
                "Train with --device cpu");
  }
  if (!(config.pace_ms >= 0)) refuse("the pace is negative", "Give 0 or more");
  if (config.until.kind == Until::Kind::accuracy && chosen.regression) {
    refuse(fmt::format("{} is a regression, which has no accuracy", config.workload),
           "End it by --until loss:X");
  }
  const bool judged =
      config.until.kind == Until::Kind::accuracy || config.until.kind == Until::Kind::loss;
  if (judged && config.evaluate_every == 0) {
    refuse(fmt::format("the run ends by {} but is never evaluated", to_string(config.until)),
           "Evaluate now and then (--evaluate-every SAMPLES)");
  }
  const double accuracy =
      config.until.kind == Until::Kind::accuracy ? config.until.amount : config.target;
  if (!chosen.regression && accuracy > 100) {
    refuse(fmt::format("no accuracy is {} %", accuracy), "Give 100 or less");
  }
  Weather(Imbalance::parse(config.imbalance), config.ranks, 0, config.seed);
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
  const double epoch = double(checked(config)->train_samples());
  if (!has_checkpoint(directory)) {
    refuse(fmt::format("{} has no checkpoint", directory.string()),
           "Resume a run that was saved (--checkpoint-every, or ended with Ctrl-C)");
  }
  const Position position = saved_position(directory, kind_of(config));
  if (!has_ended(config.until, epoch, position)) return position;
  refuse(fmt::format("the run in {} is past the end {}: it has trained {:.0f} rounds, "
                     "{:.0f} samples or {:.3g} epochs, for {:.1f} s",
                     directory.string(), to_string(config.until), position.rounds, position.samples,
                     position.samples / epoch, position.seconds),
         "Move the end on with --until to train it further");
}

RunLock::RunLock(const fs::path& directory)
    : file_(::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  // File systems without locks have to do without.
  if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(file_);
  throw Error(ErrorCode::environment,
              fmt::format("the run in {} is being trained by another job", directory.string()),
              "Wait for its end, or end it with Ctrl-C");
}

RunLock::~RunLock() {
  if (file_ >= 0) ::close(file_);
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
  if (std::ifstream file(directory / kResultFile); file) {
    finished.result = nlohmann::json::parse(file).get<Result>();
  }
  return finished;
}

fs::path make_run(const Config& config, const fs::path& runs) {
  const fs::path directory = make_directory(config, runs);
  write_config(config, directory);
  return directory;
}

void reopen_run(const fs::path& directory, const Config& config) {
  cut_metrics(directory / "metrics.jsonl", saved_clocks(directory));
  write_config(config, directory);
  std::ifstream file(directory / kResultFile);
  const auto result = nlohmann::json::parse(file, nullptr, false);
  std::error_code none;
  // What a part that diverged came to is not what the run goes on from.
  if (result.is_object() && result.value("diverged", false)) {
    fs::remove(directory / kResultFile, none);
  } else {
    fs::rename(directory / kResultFile, directory / kEarlierResultFile, none);
  }
}

std::string config_text(const Config& config) { return nlohmann::json(config).dump(2) + "\n"; }

Config read_config(const fs::path& directory) {
  std::ifstream file(directory / "config.json");
  if (!file) {
    refuse(
        fmt::format("{} is not the directory of a run: it has no config.json", directory.string()),
        "Name a directory that syncopate train has made");
  }
  try {
    return nlohmann::json::parse(file).get<Config>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        ErrorCode::environment,
        fmt::format("{} cannot be read: {}", (directory / "config.json").string(), error.what()),
        "The file is damaged, or of another version: start the run anew");
  }
}

}  // namespace syncopate::train

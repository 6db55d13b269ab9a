// One rank of a training job: the process that the launcher starts.
#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "train/trainer.h"
#include "train/training_job.h"

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

constexpr double kLineEverySeconds = 10;

std::string line(const Config& config, const std::string& label, const Progress& progress) {
  const std::string& name = label.empty() ? config.strategy : label;
  std::string text =
      fmt::format("{}  {:3.0f} %  round {}  {:.0f} samples  {:.0f}/s  loss {:.3f}", name,
                  100 * progress.share, progress.rounds, progress.samples,
                  progress.seconds > 0 ? progress.samples / progress.seconds : 0.0, progress.loss);
  if (progress.accuracy > 0) {
    text += fmt::format("  {} {:.1f} %", progress.evaluated ? "accuracy" : "training accuracy",
                        progress.accuracy);
  }
  return text + fmt::format("  waiting {:.0f} %  {:.1f} of {} in a round",
                            100 * progress.wait_share, progress.contributors, config.ranks);
}

/// A line that is written over on a terminal; elsewhere a new one now and then.
ShowProgress shower(const Config& config, const std::string& label) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  return [=, last = 0.0](const Progress& progress) mutable {
    if (!terminal && progress.seconds - last < kLineEverySeconds) return;
    last = progress.seconds;
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "",
               base::printable(line(config, label, progress)), terminal ? "" : "\n");
    std::fflush(stderr);
  };
}

/// Functions of Intel's MKL that several threads call at once for the first time can give one of
/// them few digits (pytorch/pytorch#188792): here one thread calls them first.
void call_vector_functions_once() {
  const torch::Tensor one = torch::ones(1);
  one.sqrt();
  one.exp();
  one.log();
  one.tanh();
}

}  // namespace

RankEnded train_as_rank(const World& world, const Config& config, const fs::path& directory,
                        const RankOptions& options) {
  catch_signals();
  torch::set_num_threads(std::max(1, world.cores() / world.local_size()));
  call_vector_functions_once();
  Trainer trainer(world, config, directory,
                  {.resume = options.resume,
                   .survive = options.survive,
                   .show = shower(config, options.label),
                   .warn = [](const std::string& text) {
                     fmt::print(stderr, "syncopate: {}\n", base::printable(text));
                   }});
  if (options.ready) options.ready();
  RankEnded ended{.result = trainer.run()};
  ended.signal = trainer.signal();
  return ended;
}

void run_rank(const fs::path& directory, bool resume, const std::string& label) {
  catch_signals();
  const Config config = read_config(directory);
  train_as_rank(World::from_environment(), config, directory, {.resume = resume, .label = label});
}

}  // namespace syncopate::train

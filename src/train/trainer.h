// One rank of a training run: computes steps at the pace and in the weather it is given, lets the
// strategy exchange them, and stops with the others to evaluate and to save.
#pragma once

#include <torch/torch.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "syncopate/torch.h"
#include "syncopate/world.h"
#include "train/checkpoint.h"
#include "train/config.h"
#include "train/evaluation.h"
#include "train/injected_delays.h"
#include "train/metrics.h"
#include "train/pace.h"
#include "train/result.h"
#include "train/run_progress.h"
#include "train/sampler.h"
#include "train/stopwatch.h"
#include "train/workload.h"

namespace syncopate::train {

/// Set when the process is told to end (see catch_signals): the run then stops cleanly.
extern std::atomic<bool> told_to_end;
/// SIGINT, SIGTERM and SIGALRM set told_to_end.
void catch_signals();

/// What a run reports while it runs; called by one rank, a few times per second at most.
struct Progress {
  double share = 0;
  double samples = 0;
  double seconds = 0;
  std::uint64_t rounds = 0;
  double loss = 0;
  double accuracy = 0;  ///< Of the last evaluation, or of training if there was none.
  bool evaluated = false;
  double wait_share = 0;
  double contributors = 0;
};
using ShowProgress = std::function<void(const Progress&)>;

struct TrainerOptions {
  bool resume = false;
  /// Go on with the others when a rank dies. Where ranks have a launcher that ends the others, it
  /// decides that.
  bool survive = true;
  ShowProgress show;
  std::function<void(const std::string&)>
      warn;  ///< Of what does not end the run; called by one rank.
};

class Trainer {
 public:
  Trainer(const World& world, const Config& config, const std::filesystem::path& run,
          const TrainerOptions& options);
  ~Trainer();

  /// Trains to the end, and writes result.json.
  Result run();
  /// The signal that ended the run, whichever rank it came to; 0: none did.
  int signal() const { return signal_; }

 private:
  class ReportingLearner;  ///< The learner, which tells the trainer of every exchange.

  /// What a rank that ended before the training began had under way would be lost.
  void check_everybody_is_here();
  void step();
  void compute(const std::vector<std::int64_t>& samples);
  void exchanged(const Exchange& exchange);
  void keep_metrics(StepTimes times);
  void flush_metrics();  ///< All ranks together.
  void after_exchanges();
  void evaluate();
  bool is_finite(const StrategyState& state) const;  ///< And the model, and the optimizer's memory.
  void save();
  void check(const Counters& counters) const;  ///< Throws Damaged.
  void load(const Snapshot& snapshot);
  void load_strategy(const Part& part);  ///< All ranks together.
  Result write_result();
  void write_model();
  /// One rank writes `text()` into this file of the run, for all.
  void write_for_all(const char* file, const std::function<std::string()>& text);
  void look_after_ranks();
  void show_progress(bool now);

  World world_;
  Config config_;
  std::filesystem::path run_;
  const Workload& workload_;
  torch::Device device_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::unique_ptr<ReportingLearner> learner_;
  RunProgress run_progress_;
  EpochSampler sampler_;
  InjectedDelays delays_;
  SteadyClock clock_;
  Pacer pacer_;
  Stopwatch watch_;
  Metrics metrics_;
  Evaluator evaluator_;
  CollectiveIo io_;
  Checkpoints checkpoints_;
  Allreduce<double> gather_;
  TrainerOptions options_;
  std::unique_ptr<Strategy> strategy_;

  RankSums sums_;
  double samples_before_ = 0;  ///< That counted when the sums began.
  std::vector<Evaluation> evaluations_;
  struct Followed {
    Exchange exchange;
    double samples;  ///< Of all ranks, after it.
    double loss;
  };
  std::vector<Followed> fresh_;  ///< Of the step that just ended.
  Duration shown_at_{0};
  bool rank_is_missing_ = false;
  bool metrics_are_missing_ = false;  ///< And the user was told so.
  int signal_ = 0;
};

}  // namespace syncopate::train

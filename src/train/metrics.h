// metrics.jsonl of a run: a line for every exchange of every rank. All ranks append to one file;
// whole lines are written at once, so that they never mix. Between machines that takes a lock on
// the file, because each machine may have its own idea of where the file ends.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "syncopate/strategy.h"

namespace syncopate::train {

struct StepTimes {
  double arrived_s = 0;    ///< On the training clock: when the gradient was there.
  double compute_ms = 0;   ///< Of the step before it; 0 for further exchanges of the same step.
  double exchange_ms = 0;  ///< Exchanging and applying, without waiting.
};

/// Leaves out of `file` what was appended after these times of the ranks' training clocks; of ranks
/// that have none, after the latest of them.
void cut_metrics(const std::filesystem::path& file, const std::map<int, double>& clocks);

class Metrics {
 public:
  /// Without a path nothing is written.
  Metrics(const std::filesystem::path& file, int rank, bool across_machines);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void add(const Exchange& exchange, const StepTimes& times, double samples, double loss);
  /// Throws Error(environment) if the file cannot be written.
  void flush();

 private:
  std::string path_;
  int descriptor_ = -1;
  int rank_;
  bool across_machines_;
  std::string lines_;
};

}  // namespace syncopate::train

// metrics.jsonl of a run: a line for every exchange of every rank. All ranks append to one file;
// whole lines are written at once, so that they never mix. Between machines that takes a lock on
// the file, because each machine may have its own idea of where the file ends.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
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
/// The same from one text to another. Whatever the text is, only whole lines come through, and no
/// line is held in memory that is longer than any of ours.
void keep_metrics(std::istream& from, const std::map<int, double>& clocks,
                  const std::function<void(const std::string& line)>& keep);

class Metrics {
 public:
  /// Without a path nothing is written. Throws Error(environment) for a place that is wrong; a disk
  /// that is full or faulty never ends a training: see failure().
  Metrics(const std::filesystem::path& file, int rank, bool across_machines);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void add(const Exchange& exchange, const StepTimes& times, double samples, double loss);
  void flush();
  /// Why lines are missing in the file, in a sentence; the first reason. They are not written
  /// later.
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  int rank_;
  bool across_machines_;
  std::string lines_;
  std::optional<std::string> failure_;
};

}  // namespace syncopate::train

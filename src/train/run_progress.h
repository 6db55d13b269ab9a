// How far a run has come, as all ranks agree: it follows the agreed exchanges, so that every rank
// evaluates, saves and stops after the same one, without a word more being exchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "syncopate/strategy.h"
#include "train/config.h"
#include "train/result.h"

namespace syncopate::train {

/// The numbers that travel with each step and are summed over ranks.
enum Note : std::size_t {
  kSamples,  ///< computed in the step
  kLoss,     ///< the sum over them
  kHits,     ///< how many were predicted right
  kStop,     ///< 1: this rank wants to end (its time is up, or it was told to); see below
  kNotes,
  /// A vote that came too late for its round would end the run that resumes this one: the notes
  /// from here on are in no checkpoint.
  kUnsaved = kStop,
};

/// How far a run has come.
struct Position {
  double samples = 0;
  double rounds = 0;
  double seconds = 0;
  std::optional<Evaluation> judged;  ///< The last evaluation.
  int ranks = 0;                     ///< By how many ranks, where it was saved.
};

/// Whether this is where the run ends. `epoch`: samples in the training set.
bool has_ended(const Until& until, double epoch, const Position& position);

class RunProgress {
 public:
  /// `epoch`: samples in the training set.
  RunProgress(const Config& config, std::int64_t epoch);

  void follow(const Exchange& exchange);

  double samples() const { return samples_; }
  std::uint64_t exchanges() const { return exchanges_; }
  double training_loss() const { return loss_; }      ///< Of the last agreed exchange.
  double training_accuracy() const { return hits_; }  ///< In per cent.
  /// What all ranks do now, before their next step.
  bool must_stop() const { return stop_; }
  /// The loss is no number any more, or so far from where it was that it will not come back: the
  /// run stops.
  bool diverged() const { return diverged_; }
  bool must_evaluate() const { return evaluate_; }
  bool must_save() const { return save_; }
  void evaluated() { evaluate_ = false; }
  void saved() { save_ = false; }
  void stop() { stop_ = true; }
  void diverge() { diverged_ = stop_ = true; }
  /// Whether this is the loss of a run that diverged.
  bool is_beyond(double loss) const;

  /// The share of the run that lies behind, as far as that is known: 0 to 1.
  double share() const;
  /// By how much the learning rate is multiplied now.
  double rate() const;

  void resume(double samples, std::uint64_t exchanges);

 private:
  /// By what is counted; others find out about the rest: by a vote, or from an evaluation.
  bool reached() const;
  static bool crossed(double before, double after, std::int64_t every);

  Until until_;
  std::int64_t evaluate_every_;
  std::int64_t save_every_;
  bool cosine_;
  double epoch_;
  double samples_ = 0;
  std::uint64_t exchanges_ = 0;
  double loss_ = 0;
  double first_loss_ = 0;  ///< Since the run began, or was resumed.
  double hits_ = 0;
  bool stop_ = false;
  bool diverged_ = false;
  bool evaluate_ = false;
  bool save_ = false;
};

}  // namespace syncopate::train

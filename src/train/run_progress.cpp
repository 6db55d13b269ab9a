#include "train/run_progress.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace syncopate::train {

bool has_ended(const Until& until, double epoch, const Position& position) {
  switch (until.kind) {
    case Until::Kind::samples:
      return position.samples >= until.amount;
    case Until::Kind::epochs:
      return position.samples >= until.amount * epoch;
    case Until::Kind::rounds:
      return position.rounds >= until.amount;
    case Until::Kind::seconds:
      return position.seconds >= until.amount;
    case Until::Kind::accuracy:
      return position.judged && position.judged->accuracy >= until.amount;
    case Until::Kind::loss:
      return position.judged && position.judged->loss <= until.amount;
  }
  return false;
}

RunProgress::RunProgress(const Config& config, std::int64_t epoch)
    : until_(config.until),
      evaluate_every_(config.evaluate_every < 0 ? std::max<std::int64_t>(1, epoch / 4)
                                                : config.evaluate_every),
      save_every_(!config.checkpoints           ? 0
                  : config.checkpoint_every < 0 ? std::max<std::int64_t>(1, epoch)
                                                : config.checkpoint_every),
      cosine_(config.schedule == "cosine"),
      epoch_(double(epoch)) {}

bool RunProgress::crossed(double before, double after, std::int64_t every) {
  return every > 0 && std::floor(before / double(every)) < std::floor(after / double(every));
}

void RunProgress::follow(const Exchange& exchange) {
  if (!exchange.agreed) return;
  ++exchanges_;
  const double before = samples_;
  // Sums of whole numbers, that were divided and multiplied on the way.
  const double fresh = std::round(exchange.notes[kSamples]);
  samples_ += fresh;
  if (fresh > 0) {
    loss_ = exchange.notes[kLoss] / fresh;
    hits_ = 100 * exchange.notes[kHits] / fresh;
    if (first_loss_ == 0 && std::isfinite(loss_)) first_loss_ = loss_;
  }
  stop_ = stop_ || exchange.notes[kStop] > 0 || reached();
  if (is_beyond(loss_)) diverge();
  evaluate_ = evaluate_ || crossed(before, samples_, evaluate_every_);
  save_ = save_ || crossed(before, samples_, save_every_);
}

bool RunProgress::is_beyond(double loss) const {
  // Far more than any training recovers from. A run that is resumed may have a first loss near 0,
  // and those of models that know nothing yet are about 1 or more.
  constexpr double kTimes = 1e4;
  return !std::isfinite(loss) || loss > kTimes * std::max(1.0, first_loss_);
}

bool RunProgress::reached() const {
  return has_ended(until_, epoch_, {.samples = samples_, .rounds = double(exchanges_)});
}

double RunProgress::share() const {
  double all = 0;
  if (until_.kind == Until::Kind::samples) all = samples_ / until_.amount;
  if (until_.kind == Until::Kind::epochs) all = samples_ / (until_.amount * epoch_);
  if (until_.kind == Until::Kind::rounds) all = double(exchanges_) / until_.amount;
  return std::clamp(all, 0.0, 1.0);
}

double RunProgress::rate() const {
  return cosine_ ? 0.5 * (1 + std::cos(std::numbers::pi * share())) : 1;
}

void RunProgress::resume(double samples, std::uint64_t exchanges) {
  samples_ = samples;
  exchanges_ = exchanges;
  stop_ = reached();  // Nothing is left to do, unless the end was moved on.
}

}  // namespace syncopate::train

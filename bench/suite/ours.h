// Our side of the measuring loops in bench/peers/measure.h: what MPI's and Gloo's drivers are for
// them. Each class below runs one collective of the library on the board.
#pragma once

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/peers/values.h"
#include "bench/peers/workload.h"
#include "syncopate/syncopate.h"

namespace syncopate::cli::bench {

/// A rank's place, and the untimed exchanges between measurements.
class Ours {
 public:
  explicit Ours(World world) : world_(std::move(world)) {}

  int rank() const { return world_.rank(); }
  int ranks() const { return world_.size(); }
  std::string library() const { return "Syncopate " SYNCOPATE_VERSION; }
  void barrier() { world_.barrier(); }

  void total(std::span<double> values) {
    Allreduce<double> sum(world_, values.size());
    const auto rounds = sum.exchange(std::span<const double>(values));
    const auto result = rounds.front().sum();
    std::copy(result.begin(), result.end(), values.begin());
  }

 protected:
  World world_;
};

class OurAllreduce : public Ours {
 public:
  OurAllreduce(World world, const peers::Workload&) : Ours(std::move(world)) {}

  void open(std::size_t elements) { sum_.emplace(world_, elements); }
  float* buffer() { return sum_->slot(); }

  template <typename Consume>
  void exchange(const Consume& consume) {
    consume(sum_->exchange().front().sum());
    ++rounds_;
  }

  void expect(std::span<const float>, std::size_t) const {}
  bool others_done(std::size_t step, std::size_t planned) const { return step == planned; }
  std::size_t rounds() const { return rounds_; }
  nlohmann::json close() {
    sum_.reset();
    return {{"contributors_mean", ranks()}};
  }

 private:
  std::optional<Allreduce<float>> sum_;
  std::size_t rounds_ = 0;
};

/// Tells the slow rank, which has no count of its own to reach, that the others have reached
/// theirs.
class Gong {
 public:
  explicit Gong(const World& world) : all_(world, 1, {.trigger = syncopate::all()}) {}

  /// This rank has nothing against stopping.
  void agree() {
    if (!agreed_) all_.start_empty();
    agreed_ = true;
  }
  bool everyone_agrees() { return all_.ready(); }
  void wait() { all_.wait().pass(); }

 private:
  PartialAllreduce<float> all_;
  bool agreed_ = false;
};

class OurPartial : public Ours {
 public:
  OurPartial(World world, const peers::Workload& work)
      : Ours(std::move(world)),
        options_{.trigger = Trigger::parse(work.trigger),
                 .grace = Grace::parse(work.grace),
                 .scale = Scale::none,
                 .window = work.window} {}

  void open(std::size_t elements) {
    gong_.emplace(world_);
    exchange_.emplace(world_, elements, options_);
    rounds_ = calls_ = 0;
    contributors_ = fresh_ = mass_ = 0;
  }
  float* buffer() { return exchange_->slot(); }

  template <typename Consume>
  void exchange(const Consume& consume) {
    ++calls_;
    for (const auto& round : exchange_->exchange()) {
      take(round);
      consume(round.sum());
    }
  }

  /// Marks of this iteration are fresh; those of the one before were carried over.
  void expect(std::span<const float> result, std::size_t iteration) {
    fresh_ += double(result[iteration % 2]);
  }

  bool others_done(std::size_t, std::size_t) {
    gong_->agree();
    return gong_->everyone_agrees();
  }
  std::size_t rounds() const { return rounds_; }

  /// Runs the last round and checks that every deposit was in exactly one.
  nlohmann::json close() {
    std::vector<double> sums = {double(calls_), contributors_, fresh_, double(rounds_)};
    gong_->agree();
    exchange_->finish([&](const Round<float>& round) { take(round); });
    gong_->wait();
    exchange_.reset();
    total(sums);
    if (mass_ != sums[0]) {
      throw std::runtime_error("wrong result: " + std::to_string(sums[0]) +
                               " deposits were made and " + std::to_string(mass_) +
                               " are in the rounds");
    }
    return {{"contributors_mean", sums[1] / sums[3]}, {"fresh_mean", sums[2] / sums[3]}};
  }

 private:
  void take(const Round<float>& round) {
    const auto sum = round.sum();
    ++rounds_;
    contributors_ += round.receipt().contributors.size();
    mass_ += double(sum[0]) + double(sum[1]);
  }

  PartialOptions options_;
  std::optional<Gong> gong_;
  std::optional<PartialAllreduce<float>> exchange_;
  std::size_t rounds_ = 0;
  std::size_t calls_ = 0;
  double contributors_ = 0;
  double fresh_ = 0;
  double mass_ = 0;  // deposits that were in the rounds so far
};

class OurGroup : public Ours {
 public:
  OurGroup(World world, const peers::Workload& work)
      : Ours(std::move(world)),
        options_{.group_size = work.group_size,
                 .synchronize_every = work.synchronize_every,
                 .trigger = Trigger::parse(work.trigger),
                 .grace = Grace::parse(work.grace),
                 .window = work.window} {}

  void open(std::size_t elements) {
    gong_.emplace(world_);
    average_.emplace(world_, std::vector<float>(elements, 0.0F), options_);
    steps_ = 0;
    members_ = included_ = 0;
  }
  float* buffer() { return average_->weights(); }

  template <typename Consume>
  void exchange(const Consume& consume) {
    const GroupReceipt receipt = average_->average();
    ++steps_;
    members_ += receipt.members.size();
    included_ += receipt.included ? 1 : 0;
    consume(std::span<const float>(average_->weights(), average_->size()));
  }

  /// Averages of zeros and ones.
  void expect(std::span<const float> result, std::size_t) const {
    for (const std::size_t i : {std::size_t{0}, result.size() - 1}) {
      if (!(result[i] >= 0 && result[i] <= 1.00001F)) {
        peers::wrong_result(i, result[i], "from 0 to 1");
      }
    }
  }

  bool others_done(std::size_t, std::size_t) {
    gong_->agree();
    return gong_->everyone_agrees();
  }
  std::size_t rounds() const { return steps_; }

  nlohmann::json close() {
    gong_->agree();
    average_->leave();
    gong_->wait();
    std::vector<double> sums = {members_, included_, double(steps_)};
    total(sums);
    average_.reset();
    return {{"contributors_mean", sums[0] / sums[2]}, {"included_share", sums[1] / sums[2]}};
  }

 private:
  GroupOptions options_;
  std::optional<Gong> gong_;
  std::optional<GroupAverage<float>> average_;
  std::size_t steps_ = 0;
  double members_ = 0;
  double included_ = 0;  // steps whose mean held this rank's current weights
};

}  // namespace syncopate::cli::bench

#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "syncopate/error.h"
#include "train/bytes.h"
#include "train/optimizers.h"
#include "train/tensor_file.h"

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStatistic = "statistic.";
constexpr const char* kOptimizer = "optimizer.";
constexpr const char* kStrategy = "strategy.";

std::string serialize(const Snapshot& snapshot, const torch::optim::Optimizer& optimizer,
                      const std::string& kind) {
  Tensors foreign, kept;
  for (std::size_t i = 0; i < snapshot.statistics.size(); ++i) {
    foreign[fmt::format("{}{}", kStatistic, i)] = snapshot.statistics[i];
  }
  for (const auto& [name, values] : memory_of(optimizer)) foreign[kOptimizer + name] = values;
  return to_bytes(snapshot.part, kind, bytes_of(foreign, kept));
}

/// A part with what is torch's of it.
struct ReadPart {
  Part part;
  std::vector<torch::Tensor> statistics;
  Tensors memory;  ///< The optimizer's.
};

/// Throws Damaged unless these are the model's buffers.
void check_statistics(const std::vector<torch::Tensor>& read,
                      const std::vector<torch::Tensor>& due) {
  if (read.size() != due.size()) {
    throw Damaged(
        fmt::format("it has {} statistics, where the model has {}", read.size(), due.size()));
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i].scalar_type() != due[i].scalar_type() || read[i].sizes() != due[i].sizes()) {
      throw Damaged(fmt::format("\"{}{}\" is of another model", kStatistic, i));
    }
    if (read[i].is_floating_point() && !torch::isfinite(read[i]).all().item<bool>()) {
      throw Damaged(fmt::format("\"{}{}\" has a value that is no number", kStatistic, i));
    }
  }
}

std::size_t weights_of(const torch::optim::Optimizer& optimizer) {
  std::size_t weights = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) weights += std::size_t(parameter.numel());
  }
  return weights;
}

/// Of a strategy's vectors that are not as long as the model, such as a loss for each sample.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 24;
constexpr int kMostVectors = 16;
/// Of the optimizer, for each of its parameters.
constexpr std::size_t kMostMemories = 8;

std::uint64_t values_in(const std::vector<std::int64_t>& shape) {
  std::uint64_t values = 1;  // No more than its file has bytes, as is known by now.
  for (const std::int64_t side : shape) values *= std::uint64_t(side);
  return values;
}

/// Refuses what is larger than anything that is due, before there is memory for it. What exactly
/// is due is compared when it is read.
class SizeCheck {
 public:
  explicit SizeCheck(const Fit& fit) : weights_(weights_of(fit.optimizer)) {
    for (const auto& group : fit.optimizer.param_groups()) {
      memories_ += kMostMemories * group.params().size();
    }
    for (const torch::Tensor& one : fit.statistics) statistics_ += std::uint64_t(one.numel());
  }

  void operator()(const std::string& name, const std::vector<std::int64_t>& shape) {
    const std::uint64_t values = values_in(shape);
    std::uint64_t most = weights_;
    if (name.starts_with(kStrategy)) {
      most = ++vectors_ > kMostVectors ? 0 : std::max(weights_, kMostValues);
    } else if (name.starts_with(kStatistic)) {
      most = statistics_;
    } else if (name.starts_with(kOptimizer)) {
      most = memories_ == 0 ? 0 : std::max<std::uint64_t>(weights_, 1);
      memories_ -= memories_ == 0 ? 0 : 1;
    }
    if (values <= most) return;
    throw Damaged(
        fmt::format("its tensor \"{}\" has {} values, which is more than are due", name, values));
  }

 private:
  std::uint64_t weights_, statistics_ = 0;
  std::size_t memories_ = 0;
  int vectors_ = 0;
};

/// All of a part but its strategy's state is compared with what is due.
ReadPart read_part_file(const fs::path& file, int rank, const std::string& kind, const Fit& fit) {
  ReadPart read;
  reading(file, [&] {
    SizeCheck check(fit);
    const std::string bytes = read_tensor_bytes(
        file, [&](const std::string& name, Element, const auto& shape) { check(name, shape); });
    auto [its, foreign] = read_part(as_bytes(bytes), kind);
    read.part = std::move(its);
    if (rank >= read.part.ranks) {
      throw Damaged(fmt::format("it is of rank {}, and {} ranks saved it", rank, read.part.ranks));
    }
    if (const std::size_t due = weights_of(fit.optimizer); read.part.weights.size() != due) {
      throw Damaged(
          fmt::format("it has {} weights, where the model has {}", read.part.weights.size(), due));
    }
    for (std::size_t i = 0; i < fit.statistics.size(); ++i) {
      const auto found = foreign.extract(fmt::format("{}{}", kStatistic, i));
      if (!found.empty()) read.statistics.push_back(tensor_of(found.mapped()));
    }
    for (const auto& [name, tensor] : foreign) {
      if (!name.starts_with(kOptimizer)) {
        throw Damaged(fmt::format("it has a tensor \"{}\", which is not known", name));
      }
      read.memory[name.substr(std::string_view(kOptimizer).size())] = tensor_of(tensor);
    }
    check_statistics(read.statistics, fit.statistics);
    check_memory(fit.optimizer, read.memory);
  });
  return read;
}

}  // namespace

Checkpoints::Checkpoints(const World& world, CollectiveIo& io, fs::path run, std::string kind)
    : world_(world),
      io_(io),
      run_(std::move(run)),
      folder_(checkpoint_of(run_)),
      kind_(std::move(kind)) {}

void Checkpoints::save(const Snapshot& snapshot, const torch::optim::Optimizer& optimizer) {
  const bool has_another = has_checkpoint(run_);  // Later it may be this one that is found.
  const auto check = [&](const CollectiveIo::Failure& failure) {
    if (!failure) return;
    throw Error(ErrorCode::environment,
                fmt::format("a checkpoint could not be written: {}", *failure),
                fmt::format("Look after the disk of {} and the room on it; {}", run_.string(),
                            has_another ? "the checkpoint before this one is unharmed"
                                        : "the run has no other checkpoint yet"));
  };
  check(io_.one([&] { begin_checkpoint(run_); }));
  ino_t written = 0;
  const auto failure = io_.each(
      [&] { written = write_part(run_, world_.rank(), serialize(snapshot, optimizer, kind_)); });
  if (failure) io_.one([&] { abandon_checkpoint(run_); });
  check(failure);
  check(io_.one([&] { complete_checkpoint(run_, io_.present().list(), world_.rank(), written); }));
}

Snapshot Checkpoints::load(torch::optim::Optimizer& optimizer,
                           const std::vector<torch::Tensor>& statistics) const {
  const std::vector<int> saved = parts_in(folder_);
  if (saved.empty()) {
    throw Error(ErrorCode::environment,
                fmt::format("there is no part of a checkpoint in {}", folder_.string()),
                "Resume a run that has saved a checkpoint");
  }
  const auto is_saved = [&](int rank) { return std::ranges::binary_search(saved, rank); };
  const auto read = [&](int rank) {
    return read_part_file(part(folder_, rank), rank, kind_, {optimizer, statistics});
  };
  const int mine = world_.rank(), ranks = world_.size();
  const bool was_there = is_saved(mine);
  ReadPart own = read(was_there ? mine : saved[std::size_t(mine) % saved.size()]);
  if (!was_there) own.part.strategy.make_stand_in();
  for (int other = mine + ranks; other < own.part.ranks; other += ranks) {
    if (!is_saved(other)) continue;
    const ReadPart left = read(other);
    reading(part(folder_, other), [&] { own.part.strategy.inherit(left.part.strategy); });
  }
  set_memory(optimizer, own.memory);
  return {.part = std::move(own.part),
          .statistics = std::move(own.statistics),
          .same_crew = own.part.ranks == ranks && int(saved.size()) == ranks};
}

void Checkpoints::taking(const std::function<void()>& take) const { reading(folder_, take); }

std::map<int, double> saved_clocks(const fs::path& run) {
  std::map<int, double> clocks;
  for (const int rank : parts_in(checkpoint_of(run))) {
    const fs::path file = part(checkpoint_of(run), rank);
    reading(file, [&] { clocks[rank] = clock_of(read_notes(file)); });
  }
  return clocks;
}

Position saved_position(const fs::path& run, const std::string& kind, const Fit& fit) {
  std::optional<Position> position;
  for (const int rank : parts_in(checkpoint_of(run))) {
    const fs::path file = part(checkpoint_of(run), rank);
    const Part its = read_part_file(file, rank, kind, fit).part;
    if (!position) {
      position = {
          .samples = its.counters.samples, .rounds = its.counters.exchanges, .ranks = its.ranks};
    }
    reading(file, [&] {
      if (its.ranks != position->ranks || its.counters.samples != position->samples ||
          its.counters.exchanges != position->rounds) {
        throw Damaged("it is of another checkpoint than the parts of other ranks");
      }
    });
    // Ranks agree about rounds; the clock that was ahead is the one that may have ended the run.
    position->seconds = std::max(position->seconds, its.counters.seconds);
    if (!its.evaluations.empty()) position->judged = its.evaluations.back();
  }
  return position.value_or(Position{});
}

}  // namespace syncopate::train

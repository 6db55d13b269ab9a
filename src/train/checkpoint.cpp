#include "train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "syncopate/error.h"
#include "train/inheritance.h"
#include "train/optimizers.h"
#include "train/tensor_file.h"

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "checkpoint";
constexpr std::string_view kPrefix = "rank-";

fs::path part(const fs::path& folder, int rank) {
  return folder / fmt::format("{}{}.safetensors", kPrefix, rank);
}

/// The ranks that have a part, in order.
std::vector<int> parts_in(const fs::path& folder) {
  std::vector<int> ranks;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    int rank = 0;
    if (!name.starts_with(kPrefix)) continue;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), rank);
    if (entry.path() == part(folder, rank)) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

torch::Tensor tensor_of(const std::vector<float>& values) {
  return torch::tensor(values, torch::kFloat32);
}

std::vector<float> vector_of(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

constexpr const char* kWeights = "weights";
constexpr const char* kHead = "head";
constexpr const char* kStatistic = "statistic.";
constexpr const char* kVector = "strategy.";
constexpr const char* kOptimizer = "optimizer.";

std::string serialize(const Snapshot& snapshot, const torch::optim::Optimizer& optimizer,
                      const std::string& kind) {
  TensorFile file{.tensors = {{kWeights, tensor_of(snapshot.weights)}}};
  for (const auto& [name, values] : snapshot.strategy.vectors) {
    file.tensors[kVector + name] = tensor_of(values);
  }
  for (std::size_t i = 0; i < snapshot.statistics.size(); ++i) {
    file.tensors[fmt::format("{}{}", kStatistic, i)] = snapshot.statistics[i];
  }
  for (const auto& [name, values] : memory_of(optimizer)) file.tensors[kOptimizer + name] = values;
  file.notes[kHead] = nlohmann::json{{"kind", kind},
                                     {"ranks", snapshot.ranks},
                                     {"numbers", snapshot.numbers},
                                     {"strategy", snapshot.strategy.numbers},
                                     {"statistics", snapshot.statistics.size()},
                                     {"evaluations", snapshot.evaluations}}
                          .dump();
  return to_bytes(file);
}

/// Those whose names begin with `prefix`, by the rest of them.
Tensors tensors_of(const TensorFile& file, std::string_view prefix) {
  Tensors found;
  for (const auto& [name, tensor] : file.tensors) {
    if (name.starts_with(prefix)) found[name.substr(prefix.size())] = tensor;
  }
  return found;
}

/// The number of the file with this name; 0 if there is none.
ino_t file_at(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// Returns only when the bytes are on the disk; the number of the file.
ino_t write_file(const fs::path& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path.string());
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t taken = ::write(file, bytes.data() + written, bytes.size() - written);
    if (taken <= 0) break;
    written += std::size_t(taken);
  }
  const bool safe = written == bytes.size() && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!safe) throw std::system_error(error, std::generic_category(), path.string());
  return file_at(path);
}

[[noreturn]] void cannot_read(const fs::path& file, const std::string& reason) {
  // The first line says it; the rest is for those who work on libtorch.
  throw Error(
      ErrorCode::environment,
      fmt::format("{} cannot be read: {}", file.string(), reason.substr(0, reason.find('\n'))),
      "The file is damaged, or of another version: start the run anew");
}

/// Whatever libtorch or the parser throws on the way becomes one sentence about the file.
template <typename Read>
auto reading(const fs::path& file, const Read& read) {
  try {
    return read();
  } catch (const c10::Error& error) {
    cannot_read(file, error.what_without_backtrace());
  } catch (const std::exception& error) {
    cannot_read(file, error.what());
  }
}

struct Part {
  TensorFile file;
  nlohmann::json head;
};
Part read_part(const fs::path& file, const std::string& kind) {
  Part part{.file = read_tensor_file(file)};
  part.head = nlohmann::json::parse(part.file.notes.at(kHead));
  if (const std::string its = part.head.at("kind"); its != kind) {
    throw std::runtime_error(fmt::format("it is of a run of {}, and this is {}", its, kind));
  }
  return part;
}

/// So that a name is on the disk too, not only what is in the file.
void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

/// At every moment there is a whole checkpoint under the name, wherever the file system can.
void take_place(const fs::path& fresh, const fs::path& folder) {
  sync_folder(fresh);
  if (!fs::exists(folder)) {
    fs::rename(fresh, folder);
  } else if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(fresh);
  } else {
    const fs::path old = folder.string() + ".old";
    fs::remove_all(old);
    fs::rename(folder, old);
    fs::rename(fresh, folder);
    fs::remove_all(old);
  }
  sync_folder(folder.parent_path());
}

}  // namespace

Checkpoints::Checkpoints(const World& world, Together& together, fs::path run, std::string kind)
    : world_(world),
      together_(together),
      folder_(std::move(run) / kFolder),
      kind_(std::move(kind)) {}

void Checkpoints::save(const Snapshot& snapshot, const torch::optim::Optimizer& optimizer) {
  const fs::path fresh = folder_.string() + ".new";
  const auto check = [&](const Together::Failure& failure) {
    if (!failure) return;
    together_.one([&] { fs::remove_all(fresh); });
    throw Error(ErrorCode::environment,
                fmt::format("a checkpoint could not be written: {}", *failure),
                fmt::format("Make room in {}; the checkpoint before this one is unharmed",
                            folder_.parent_path().string()));
  };
  check(together_.one([&] { fs::remove_all(fresh); }));
  ino_t written = 0;
  check(together_.each([&] {
    fs::create_directories(fresh);
    written = write_file(part(fresh, world_.rank()), serialize(snapshot, optimizer, kind_));
  }));
  check(together_.one([&] {
    // Whoever was to do this before us may have died when it was done.
    if (file_at(part(folder_, world_.rank())) == written) return;
    // What a rank was writing when it went may not be whole.
    for (const int rank : gone(world_).list()) fs::remove(part(fresh, rank));
    take_place(fresh, folder_);
  }));
}

Snapshot Checkpoints::load(torch::optim::Optimizer& optimizer) const {
  const std::vector<int> saved = parts_in(folder_);
  if (saved.empty()) {
    throw Error(ErrorCode::environment,
                fmt::format("there is no part of a checkpoint in {}", folder_.string()),
                "Resume a run that has saved a checkpoint");
  }
  const auto is_saved = [&](int rank) { return std::ranges::binary_search(saved, rank); };
  const int mine = world_.rank(), ranks = world_.size();
  const bool was_there = is_saved(mine);
  Snapshot snapshot = read(was_there ? mine : saved[std::size_t(mine) % saved.size()], &optimizer);
  if (!was_there) make_stand_in(snapshot);
  for (int other = mine + ranks; other < snapshot.ranks; other += ranks) {
    if (is_saved(other)) inherit(snapshot, read(other, nullptr));
  }
  snapshot.same_crew = snapshot.ranks == ranks && int(saved.size()) == ranks;
  return snapshot;
}

Snapshot Checkpoints::read(int rank, torch::optim::Optimizer* optimizer) const {
  const fs::path file = part(folder_, rank);
  return reading(file, [&] {
    const auto [kept, head] = read_part(file, kind_);
    Snapshot snapshot{.weights = vector_of(kept.tensors.at(kWeights)),
                      .ranks = head.at("ranks").get<int>()};
    head.at("numbers").get_to(snapshot.numbers);
    head.at("strategy").get_to(snapshot.strategy.numbers);
    head.at("evaluations").get_to(snapshot.evaluations);
    for (std::size_t i = 0; i < head.at("statistics").get<std::size_t>(); ++i) {
      snapshot.statistics.push_back(kept.tensors.at(fmt::format("{}{}", kStatistic, i)));
    }
    for (const auto& [name, values] : tensors_of(kept, kVector)) {
      snapshot.strategy.vectors[name] = vector_of(values);
    }
    if (optimizer != nullptr) set_memory(*optimizer, tensors_of(kept, kOptimizer));
    return snapshot;
  });
}

bool has_checkpoint(const fs::path& run) {
  std::error_code unreadable;  // Its machine may be the one that is lost.
  return fs::exists(run / kFolder, unreadable);
}

std::map<int, double> saved_clocks(const fs::path& run) {
  std::map<int, double> clocks;
  for (const int rank : parts_in(run / kFolder)) {
    const fs::path file = part(run / kFolder, rank);
    reading(file, [&] {
      const auto head = nlohmann::json::parse(read_notes(file).at(kHead));
      head.at("numbers").at("seconds").get_to(clocks[rank]);
    });
  }
  return clocks;
}

Position saved_position(const fs::path& run, const std::string& kind) {
  Position position;
  // Ranks agree about rounds; the clock that was ahead is the one that may have ended the run.
  for (const int rank : parts_in(run / kFolder)) {
    const fs::path file = part(run / kFolder, rank);
    reading(file, [&] {
      const nlohmann::json head = read_part(file, kind).head;
      const auto& numbers = head.at("numbers");
      position.samples = numbers.at("samples");
      position.rounds = numbers.at("exchanges");
      position.ranks = head.at("ranks");
      position.seconds = std::max(position.seconds, numbers.at("seconds").get<double>());
      const auto evaluations = head.at("evaluations").get<std::vector<Evaluation>>();
      if (!evaluations.empty()) position.judged = evaluations.back();
    });
  }
  return position;
}

}  // namespace syncopate::train

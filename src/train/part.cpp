#include "train/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "train/bytes.h"
#include "train/json.h"
#include "train/limits.h"

namespace syncopate::train {
namespace {

constexpr const char* kVersion = "version";
constexpr const char* kHead = "head";
constexpr const char* kWeights = "weights";
constexpr const char* kHeading = "heading";
constexpr const char* kHeadingMass = "heading_mass";
constexpr std::string_view kStrategy = "strategy.";

constexpr auto kMostNumber = double(kMostCounted);
/// Some thirty years.
constexpr double kMostSeconds = 1e9;
constexpr double kMostMass = 1e9;

constexpr std::pair<const char*, Sharing> kSharings[] = {
    {"same", Sharing::same}, {"own", Sharing::own}, {"pending", Sharing::pending}};

/// What of them is counted, and how large it may be.
constexpr struct {
  const char* name;
  double Counters::*counter;
  double most;
} kCounters[] = {{"samples", &Counters::samples, kMostNumber},
                 {"exchanges", &Counters::exchanges, kMostNumber},
                 {"taken", &Counters::taken, kMostNumber},
                 {"seconds", &Counters::seconds, kMostSeconds},
                 {"computing", &Counters::computing, kMostSeconds},
                 {"waiting", &Counters::waiting, kMostSeconds},
                 {"own samples", &Counters::own_samples, kMostNumber},
                 {"steps", &Counters::steps, kMostNumber},
                 {"own exchanges", &Counters::own_exchanges, kMostNumber},
                 {"contributors", &Counters::contributors, kMostNumber},
                 {"staleness", &Counters::staleness, kMostNumber},
                 {"dropped", &Counters::dropped, kMostNumber},
                 {"before", &Counters::before, kMostSeconds},
                 {"samples before", &Counters::samples_before, kMostNumber}};
static_assert(sizeof(Counters) == std::size(kCounters) * sizeof(double), "each has its row");

TensorBytes tensor_of(const std::vector<float>& values) {
  return {Element::f32, {std::int64_t(values.size())}, std::as_bytes(std::span(values))};
}

std::vector<float> vector_of(const std::string& name, const TensorBytes& tensor) {
  if (tensor.type != Element::f32 || tensor.shape.size() != 1) {
    throw Damaged(
        fmt::format("the tensor \"{}\" is of {} with {} sides, where a vector of F32 is due", name,
                    name_of(tensor.type), tensor.shape.size()));
  }
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

void expect_finite(const std::string& name, const std::vector<float>& values) {
  if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return;
  throw Damaged(fmt::format("the tensor \"{}\" has a value that is no number", name));
}

nlohmann::json head_of(const Part& part, const std::string& kind) {
  nlohmann::json head{{"kind", kind},
                      {"ranks", part.ranks},
                      {"evaluations", part.evaluations},
                      {"numbers", nlohmann::json::object()},
                      {"strategy", nlohmann::json::object()}};
  for (const auto& [name, counter, most] : kCounters) {
    head["numbers"][name] = part.counters.*counter;
  }
  for (const auto& [name, sharing] : kSharings) {
    nlohmann::json& numbers = head["strategy"][name] = nlohmann::json::object();
    for (const auto& [entry_name, entry] : part.strategy.entries) {
      const double* number = std::get_if<double>(&entry.value);
      if (number != nullptr && entry.sharing == sharing) numbers[entry_name] = *number;
    }
  }
  if (part.heading) head[kHeadingMass] = part.heading->mass;
  return head;
}

/// Takes a tensor out of those that there are.
TensorBytes take(Foreign& tensors, const char* name) {
  const auto found = tensors.extract(name);
  if (found.empty()) throw Damaged(fmt::format("it has no tensor \"{}\"", name));
  return found.mapped();
}

Counters read_counters(const nlohmann::json& numbers) {
  Counters counters;
  Members members(numbers, "its list of counters");
  for (const auto& [name, counter, most] : kCounters) {
    counters.*counter = members.number(name, 0, most);
  }
  members.expect_no_others();
  return counters;
}

void add(StrategyState& state, const std::string& name, StateEntry entry) {
  if (state.entries.emplace(name, std::move(entry)).second) return;
  throw Damaged(fmt::format("it has the entry \"{}\" of the strategy twice", name));
}

/// Tensors of a strategy are named strategy.SHARING.NAME.
StrategyState read_strategy(const nlohmann::json& head, Foreign& tensors) {
  StrategyState state;
  Members members(head, "its strategy");
  for (const auto& [name, sharing] : kSharings) {
    const nlohmann::json& numbers = members.object(name);
    Members each(numbers, "its strategy");
    for (const auto& [entry, value] : numbers.items()) {
      add(state, entry, {sharing, each.number(entry.c_str(), -kLargest, kLargest)});
    }
    const std::string prefix = fmt::format("{}{}.", kStrategy, name);
    for (auto one = tensors.begin(); one != tensors.end();) {
      if (one->first.starts_with(prefix)) {
        add(state, one->first.substr(prefix.size()), {sharing, vector_of(one->first, one->second)});
        one = tensors.erase(one);
      } else {
        ++one;
      }
    }
  }
  members.expect_no_others();
  return state;
}

void check_version(Notes& notes) {
  const auto noted = notes.extract(kVersion);
  const std::string version = noted.empty() ? "1" : noted.mapped();
  if (version == std::to_string(kPartVersion)) return;
  throw Damaged(
      fmt::format("it is of version {}, and this program reads version {}", version, kPartVersion));
}

}  // namespace

std::string to_bytes(const Part& part, const std::string& kind, const Foreign& foreign) {
  TensorFileBytes file{.tensors = foreign};
  file.tensors[kWeights] = tensor_of(part.weights);
  if (part.heading) file.tensors[kHeading] = tensor_of(part.heading->before);
  for (const auto& [name, entry] : part.strategy.entries) {
    const auto* values = std::get_if<std::vector<float>>(&entry.value);
    if (values == nullptr) continue;
    for (const auto& [sharing_name, sharing] : kSharings) {
      if (sharing != entry.sharing) continue;
      file.tensors[fmt::format("{}{}.{}", kStrategy, sharing_name, name)] = tensor_of(*values);
    }
  }
  file.notes = {{kVersion, std::to_string(kPartVersion)}, {kHead, head_of(part, kind).dump()}};
  return to_bytes(file);
}

PartAndForeign read_part(std::span<const std::byte> file, const std::string& kind) {
  TensorFileBytes found = find_tensors(file);
  check_version(found.notes);
  check_sum(file, found.notes);
  const auto head_text = found.notes.extract(kHead);
  if (head_text.empty()) throw Damaged("it has no head");
  if (!found.notes.empty()) {
    throw Damaged(
        fmt::format("it has a note \"{}\", which is not known", found.notes.begin()->first));
  }
  const nlohmann::json head = read_json(head_text.mapped());
  Members members(head, "its head");
  PartAndForeign read{.foreign = std::move(found.tensors)};
  Part& part = read.part;
  if (const std::string its = members.text("kind"); its != kind) {
    throw Damaged(fmt::format("it is of a run of {}, and this is {}", its, kind));
  }
  part.ranks = int(members.whole("ranks", 1, kMostRanks));
  part.counters = read_counters(members.object("numbers"));
  for (const nlohmann::json& one : members.list("evaluations")) {
    part.evaluations.push_back(read_evaluation(one));
  }
  part.strategy = read_strategy(members.object("strategy"), read.foreign);
  part.weights = vector_of(kWeights, take(read.foreign, kWeights));
  expect_finite(kWeights, part.weights);
  if (members.has(kHeadingMass)) {
    part.heading = {
        .before = vector_of(kHeading, take(read.foreign, kHeading)),
        .mass = members.number(kHeadingMass, std::numeric_limits<float>::min(), kMostMass)};
    expect_finite(kHeading, part.heading->before);
    if (part.heading->before.size() != part.weights.size()) {
      throw Damaged(fmt::format("its heading has {} values, where {} are due",
                                part.heading->before.size(), part.weights.size()));
    }
  }
  members.expect_no_others();
  return read;
}

double clock_of(const Notes& notes) {
  const auto found = notes.find(kHead);
  if (found == notes.end()) throw Damaged("it has no head");
  const nlohmann::json head = read_json(found->second);
  return read_counters(Members(head, "its head").object("numbers")).seconds;
}

}  // namespace syncopate::train

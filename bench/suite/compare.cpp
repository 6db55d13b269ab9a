#include "bench/suite/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/peers/statistics.h"
#include "cli/console/progress.h"

namespace syncopate::cli::bench {

namespace {

constexpr const char* kOurs = "syncopate";

/// Numbers become the median of the repetitions; anything else is as the first one has it.
nlohmann::json merge(const std::vector<nlohmann::json>& repetitions) {
  nlohmann::json merged = repetitions.at(0);
  for (const auto& [name, value] : repetitions.at(0).items()) {
    if (!value.is_number()) continue;
    std::vector<double> values;
    values.reserve(repetitions.size());
    for (const auto& row : repetitions) values.push_back(row.value(name, 0.0));
    merged[name] = peers::median(values);
  }
  return merged;
}

/// The rows of one entry, by size, one for each repetition.
using Collected = std::map<std::size_t, std::vector<nlohmann::json>>;

}  // namespace

Comparison compare(const std::vector<Entry>& entries, int repetitions, double timeout_seconds) {
  Comparison comparison;
  std::vector<Collected> collected(entries.size());
  std::set<std::string> failed;
  Progress progress;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [side, work] = entries[i];
      if (failed.contains(side.name)) continue;
      progress.show(fmt::format("repetition {} of {}: {} {}", repetition + 1, repetitions,
                                side.name, side.name == kOurs ? work.trigger : ""));
      try {
        for (auto& row : run_side(side, work, timeout_seconds)) {
          collected[i][row.at("bytes").get<std::size_t>()].push_back(std::move(row));
        }
      } catch (const std::runtime_error& error) {
        if (side.name == kOurs) throw;
        failed.insert(side.name);
        comparison.failures.emplace_back(error.what());
      }
    }
  }
  std::set<std::size_t> sizes;
  for (const Entry& entry : entries) sizes.insert(entry.work.bytes.begin(), entry.work.bytes.end());
  for (const std::size_t bytes : sizes) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto found = collected[i].find(bytes);
      if (found == collected[i].end()) continue;
      comparison.rows.push_back({.peer = entries[i].side.name,
                                 .trigger = entries[i].work.trigger,
                                 .bytes = bytes,
                                 .figures = merge(found->second)});
    }
  }
  return comparison;
}

double best_peer(const std::vector<Measured>& rows, std::size_t bytes, const char* figure) {
  double best = 0;
  for (const Measured& row : rows) {
    if (row.bytes != bytes || row.peer == kOurs) continue;
    const double value = row.figure(figure);
    if (best == 0 || value < best) best = value;
  }
  return best;
}

}  // namespace syncopate::cli::bench

#include "cli/train/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/console/phrases.h"
#include "cli/console/table.h"
#include "syncopate/strategy.h"

namespace syncopate::cli {
namespace {

/// With whatever parameters: the first of them is what the others are compared with, if it came to
/// its end.
bool is_sync(const Row& row) { return row.strategy == "sync" || row.strategy.starts_with("sync:"); }

const Row* find_sync(const std::vector<Row>& rows) {
  const auto found = std::ranges::find_if(rows, is_sync);
  return found == rows.end() || found->diverged > 0 ? nullptr : &*found;
}

std::string with_spread(const Spread& value, int digits) {
  const double half = (value.most - value.least) / 2;
  return half > 0 ? fmt::format("{:.{}f} ±{:.{}f}", value.mean, digits, half, digits)
                  : fmt::format("{:.{}f}", value.mean, digits);
}

std::string outcome(const Row& row, bool regression) {
  if (row.diverged == int(row.runs.size()) && row.diverged > 0) return "diverged";
  return regression ? with_spread(row.loss, 4) : with_spread(row.accuracy, 2);
}

std::string to_target(const Row& row) {
  if (!row.time_to_target) return "-";
  const std::string time = format_number(*row.time_to_target);
  if (row.reached == int(row.runs.size())) return time;
  return fmt::format("{} ({}/{})", time, row.reached, row.runs.size());
}

template <typename Get>
Spread over(const std::vector<train::Result>& runs, Get get) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(get(run));
  return spread(values);
}

/// Which of the others was where sync ended first.
std::string of_the_best(const Comparison& comparison, bool regression) {
  const std::string target = regression ? fmt::format("a loss of {:.4f}", comparison.target)
                                        : fmt::format("{:.2f} %", comparison.target);
  const Row* best = nullptr;
  for (const Row& row : comparison.rows) {
    if (is_sync(row) || !row.target_share || row.reached < int(row.runs.size())) continue;
    if (best == nullptr || *row.time_to_target < *best->time_to_target) best = &row;
  }
  if (best == nullptr) {
    return fmt::format("None of the others reached {}{}.", target,
                       comparison.target_of_sync ? ", where sync ended" : "");
  }
  return fmt::format(
      "{} reached {}{} after {:.1f} s, {:.2f} of sync's time, and took {:.1f} s for the whole run "
      "({:.2f} times as fast).",
      best->strategy, target, comparison.target_of_sync ? ", where sync ended," : "",
      *best->time_to_target, *best->target_share, best->seconds.mean, *best->speedup);
}

}  // namespace

Spread spread(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size()),
          .least = *least,
          .most = *most};
}

Comparison put_together(const std::vector<std::pair<std::string, std::vector<train::Result>>>& runs,
                        std::optional<double> target, double usual_target, bool regression) {
  using train::Result;
  Comparison comparison;
  for (const auto& [strategy, results] : runs) {
    Row row{.strategy = strategy, .runs = results};
    row.seconds = over(results, [](const Result& run) { return run.seconds; });
    row.accuracy = over(results, [](const Result& run) { return run.accuracy; });
    row.loss = over(results, [](const Result& run) { return run.loss; });
    row.samples_per_s = over(results, [](const Result& run) { return run.samples_per_s; });
    row.wait_share = over(results, [](const Result& run) { return run.wait_share; });
    row.contributors = over(results, [](const Result& run) { return run.contributors_mean; });
    row.ideal_seconds = over(results, [](const Result& run) { return run.ideal_seconds; });
    row.share_of_ideal = over(results, [](const Result& run) { return run.share_of_ideal; });
    for (const Result& run : results) {
      row.staleness_max = std::max(row.staleness_max, run.staleness_max);
      if (run.diverged) ++row.diverged;
    }
    comparison.rows.push_back(row);
  }
  const Row* sync = find_sync(comparison.rows);
  comparison.target_of_sync = !target && sync != nullptr;
  comparison.target = target            ? *target
                      : sync == nullptr ? usual_target
                      : regression      ? sync->loss.mean
                                        : sync->accuracy.mean;
  const auto target_of = [&](std::size_t run) {
    if (!comparison.target_of_sync || run >= sync->runs.size()) return comparison.target;
    return regression ? sync->runs[run].loss : sync->runs[run].accuracy;
  };
  for (Row& row : comparison.rows) {
    std::vector<double> times;
    std::vector<double> times_of_sync;  // Under the same seeds.
    for (std::size_t i = 0; i < row.runs.size(); ++i) {
      const auto time = train::time_to(target_of(i), regression, row.runs[i].evaluations);
      if (!time) continue;
      times.push_back(*time);
      if (sync != nullptr && i < sync->runs.size()) times_of_sync.push_back(sync->runs[i].seconds);
    }
    row.reached = int(times.size());
    if (!times.empty()) row.time_to_target = spread(times).mean;
    if (sync == nullptr || row.diverged > 0) continue;
    row.speedup = sync->seconds.mean / row.seconds.mean;
    if (row.time_to_target && times_of_sync.size() == times.size()) {
      row.target_share = *row.time_to_target / spread(times_of_sync).mean;
    }
  }
  return comparison;
}

std::vector<nlohmann::json> to_lines(const Comparison& comparison, const train::Config& config) {
  std::vector<nlohmann::json> lines;
  const auto optional = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  for (const Row& row : comparison.rows) {
    nlohmann::json settings = config;
    settings["strategy"] = row.strategy;
    settings["strategy_in_full"] = spell_out_strategy(row.strategy);
    settings["target"] = comparison.target;
    lines.push_back({{"strategy", row.strategy},
                     {"seconds", row.seconds.mean},
                     {"time_to_target", optional(row.time_to_target)},
                     {"target", comparison.target},
                     {"reached", row.reached},
                     {"diverged", row.diverged},
                     {"accuracy", row.accuracy.mean},
                     {"accuracy_least", row.accuracy.least},
                     {"accuracy_most", row.accuracy.most},
                     {"loss", row.loss.mean},
                     {"loss_least", row.loss.least},
                     {"loss_most", row.loss.most},
                     {"samples_per_s", row.samples_per_s.mean},
                     {"speedup_vs_sync", optional(row.speedup)},
                     {"target_share_of_sync", optional(row.target_share)},
                     {"wait_share", row.wait_share.mean},
                     {"contributors_mean", row.contributors.mean},
                     {"staleness_max", row.staleness_max},
                     {"ideal_seconds", row.ideal_seconds.mean},
                     {"share_of_ideal", row.share_of_ideal.mean},
                     {"runs", row.runs},
                     {"config", settings}});
  }
  return lines;
}

std::string table(const Comparison& comparison, bool regression, int ranks) {
  int width = 8;
  for (const Row& row : comparison.rows) width = std::max(width, int(row.strategy.size()));
  const Table table({{"strategy", width, true},
                     {"time s", 7},
                     {"speed-up", 8},
                     {regression ? "loss" : "accuracy %", 13},
                     {"to target s", 11},
                     {"of sync", 7},
                     {"samples/s", 9},
                     {"waiting", 7},
                     {fmt::format("of {}", ranks), 5},
                     {"stale", 5},
                     {"of ideal", 8}});
  std::string text = table.header() + "\n";
  for (const Row& row : comparison.rows) {
    text +=
        table.row(
            {row.strategy, format_number(row.seconds.mean),
             row.speedup ? fmt::format("{:.2f}x", *row.speedup) : "-", outcome(row, regression),
             to_target(row), row.target_share ? fmt::format("{:.2f}", *row.target_share) : "-",
             fmt::format("{:.0f}", row.samples_per_s.mean),
             fmt::format("{:.0f} %", 100 * row.wait_share.mean),
             fmt::format("{:.1f}", row.contributors.mean), fmt::format("{:.0f}", row.staleness_max),
             fmt::format("{:.0f} %", 100 * row.share_of_ideal.mean)}) +
        "\n";
  }
  return text;
}

std::string conclusion(const Comparison& comparison, bool regression) {
  std::vector<std::string> sentences;
  const Row* sync = find_sync(comparison.rows);
  if (sync != nullptr) {
    sentences.push_back(fmt::format(
        "Waiting for everyone, sync stood still {:.0f} % of the time and took {:.1f} s. If no rank "
        "ever waited, the same samples would take {:.1f} s.",
        100 * sync->wait_share.mean, sync->seconds.mean, sync->ideal_seconds.mean));
    if (!std::ranges::all_of(comparison.rows, is_sync)) {
      sentences.push_back(of_the_best(comparison, regression));
    }
  } else if (std::ranges::none_of(comparison.rows, is_sync)) {
    sentences.emplace_back("There is no sync among them to compare the others with.");
  }
  for (const Row& row : comparison.rows) {
    if (row.diverged == 0) continue;
    sentences.push_back(fmt::format(
        "{} diverged in {} of {}: its loss was no number any more. A smaller --rate may help.",
        row.strategy, row.diverged, counted(row.runs.size(), "run")));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace syncopate::cli

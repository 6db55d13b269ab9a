#include "bench/suite/report.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <stdexcept>

#include "base/printable.h"
#include "bench/suite/sizes.h"
#include "cli/console/machine.h"
#include "cli/console/phrases.h"
#include "cli/console/table.h"

namespace syncopate::cli::bench {

namespace {

using peers::Skew;

/// Below this, what the ranks read and write may stay in caches, and memory sets no limit.
constexpr std::size_t kMemoryBound = std::size_t{64} << 20;

/// The figure by which sides are compared. Under skew it is the mean, as in the eager-SGD paper.
const char* headline(const Request& request) {
  return request.work.skew == Skew::none ? "median_us" : "mean_us";
}

double ratio(const Comparison& comparison, const Measured& row, const char* figure) {
  const double own = row.figure(figure);
  return own > 0 ? best_peer(comparison.rows, row.bytes, figure) / own : 0;
}

/// What reading every rank's vector and writing one result takes at the speed of memory, as a
/// share of what it took.
double copy_limit_share(const Request& request, const Setting& setting, const Measured& row) {
  const std::size_t moved = std::size_t(request.ranks + 1) * row.bytes;
  if (setting.copy_bandwidth <= 0 || moved < kMemoryBound) return 0;
  const double limit_us = double(moved) / (setting.copy_bandwidth * 1e9) * 1e6;
  return limit_us / row.figure("median_us");
}

/// That ranks which a launcher has started are on; 0 of others, which do not tell.
int machines_of(const Measured& row) { return int(row.figure("machines")); }

double algorithm_bandwidth(const Measured& row) {
  return double(row.bytes) / (row.figure("median_us") * 1e-6) * 1e-9;
}

const Measured* find(const Comparison& comparison, const std::string& peer, std::size_t bytes) {
  for (const Measured& row : comparison.rows) {
    if (row.peer == peer && row.bytes == bytes) return &row;
  }
  return nullptr;
}

/// The columns of a benchmark's table, and what each shows of a row.
class Fields {
 public:
  using Cell = std::function<std::string(const Measured&)>;

  Fields(const Request& request, const Setting& setting, const Comparison& comparison)
      : request_(request), setting_(setting), comparison_(comparison) {
    add("bytes", [](const Measured& row) { return format_size(row.bytes); });
    if (request.work.skew == Skew::none) {
      add_plain();
    } else {
      add_skewed();
    }
    for (const Side& peer : request.peers.found) add_peer(peer.name);
    if (!request.peers.found.empty()) {
      add("best peer / ours", [this](const Measured& row) {
        const double value = ratio(comparison_, row, headline(request_));
        return value > 0 ? format_number(value) : "";
      });
      if (request.neighbors.count > 0) {
        add_ratio("in the mean", "mean_us");
        add_ratio("at p99", "p99_us");
      }
    }
  }

  const std::vector<Column>& columns() const { return columns_; }

  std::vector<std::string> cells(const Measured& row) const {
    std::vector<std::string> texts;
    for (const Cell& cell : cells_) texts.push_back(cell(row));
    return texts;
  }

 private:
  static constexpr int kWidth = 9;

  void add(const std::string& heading, Cell cell, bool text = false) {
    Column& column = columns_.emplace_back();
    column.heading = heading;
    column.width = kWidth;
    column.text = text;
    cells_.push_back(std::move(cell));
  }

  void add_ratio(const char* heading, const char* figure) {
    add(heading, [this, figure](const Measured& row) {
      return format_number(ratio(comparison_, row, figure));
    });
  }

  void add_figure(const char* heading, const char* figure, double factor = 1) {
    add(heading, [figure, factor](const Measured& row) {
      return format_number(row.figure(figure) * factor);
    });
  }

  void add_plain() {
    add_figure("median us", "median_us");
    if (request_.neighbors.count > 0) add_figure("mean us", "mean_us");
    add_figure("p99 us", "p99_us");
    add("algbw GB/s", [](const Measured& row) { return format_number(algorithm_bandwidth(row)); });
    add("of copy limit", [this](const Measured& row) {
      const double share = copy_limit_share(request_, setting_, row);
      return share > 0 ? fmt::format("{:.0f} %", share * 100) : "";
    });
  }

  void add_skewed() {
    const bool chronic = request_.work.skew == Skew::chronic;
    const bool group = request_.work.operation == "group";
    add(
        "trigger", [](const Measured& row) { return row.trigger; }, true);
    if (chronic) {
      add_figure("ms per step", "mean_us", 1e-3);
      add_figure("rounds/s", "rounds_per_second");
    } else {
      add_figure("mean us", "mean_us");
      add_figure("p99 us", "p99_us");
    }
    add_figure("contributors", "contributors_mean");
    if (group) add_figure("in time", "included_share");
    if (!group && !chronic) add_figure("of them fresh", "fresh_mean");
  }

  void add_peer(const std::string& name) {
    const bool steps = request_.work.skew == Skew::chronic;
    add(name + (steps ? " ms" : " us"), [this, steps, name](const Measured& row) {
      const Measured* found = find(comparison_, name, row.bytes);
      if (found == nullptr) return std::string("failed");
      const double value = found->figure(headline(request_));
      return format_number(steps ? value * 1e-3 : value);
    });
  }

  const Request& request_;
  const Setting& setting_;
  const Comparison& comparison_;
  std::vector<Column> columns_;
  std::vector<Cell> cells_;
};

void print_table(const Request& request, const Setting& setting, const Comparison& comparison) {
  const Fields fields(request, setting, comparison);
  const Table table(fields.columns());
  fmt::print("{}\n", table.header("# "));
  for (const Measured& row : comparison.rows) {
    if (row.peer == "syncopate") fmt::print("{}\n", table.row(fields.cells(row), "  "));
  }
}

nlohmann::ordered_json to_json(const Request& request, const Setting& setting,
                               const Comparison& comparison, const Measured& row) {
  nlohmann::ordered_json json = {{"peer", row.peer},
                                 {"operation", request.work.operation},
                                 {"trigger", row.trigger},
                                 {"ranks", request.ranks},
                                 {"bytes", row.bytes},
                                 {"median_us", row.figure("median_us")},
                                 {"p99_us", row.figure("p99_us")},
                                 {"mean_us", row.figure("mean_us")}};
  name_fabric(request, json);
  if (const int machines = machines_of(row); machines > 0) json["machines"] = machines;
  if (request.work.skew != Skew::chronic) json["algbw_GBps"] = algorithm_bandwidth(row);
  json["contributors_mean"] = row.figure("contributors_mean");
  if (!request.peers.found.empty()) {
    json["ratio_to_best_peer"] = ratio(comparison, row, "median_us");
    json["mean_ratio_to_best_peer"] = ratio(comparison, row, "mean_us");
    if (request.neighbors.count > 0) {
      json["p99_ratio_to_best_peer"] = ratio(comparison, row, "p99_us");
    }
  }
  if (const double share = copy_limit_share(request, setting, row); share > 0) {
    json["copy_limit_share"] = share;
    json["copy_bandwidth_GBps"] = setting.copy_bandwidth;
  }
  for (const auto& [name, value] : row.figures.items()) {
    if (!json.contains(name)) json[name] = value;
  }
  if (const NeighborOptions& beside = request.neighbors; beside.count > 0) {
    json["neighbors"] = beside.count;
    json["neighbors_pinned"] = beside.pinned;
    json["neighbors_nice"] = beside.nice;
  }
  json["skew"] = request.work.skew;
  json["window"] = request.work.window;
  json["repetitions"] = request.repetitions;
  json["machine"] = setting.machine;
  json["command"] = setting.command;
  return json;
}

std::string skew_in_words(const Request& request) {
  const peers::Workload& work = request.work;
  switch (work.skew) {
    case Skew::none:
      return fmt::format("no rank is late; {}{}",
                         work.touch ? "each rank rewrites its values before each call, untimed"
                                    : "the values are not rewritten",
                         work.read ? "; each reads the whole result, timed" : "");
    case Skew::arrival:
      return fmt::format("rank r sleeps r x {} ms before each call, {} calls, a barrier between",
                         work.skew_ms, work.iterations);
    case Skew::chronic:
      return fmt::format(
          "rank 0 sleeps {} ms before each call, the others {} ms; {} steps of the others; no "
          "barrier; window {}",
          work.slow_ms, work.fast_ms, work.iterations, work.window);
  }
  return "";
}

}  // namespace

Setting current_setting() {
  std::ifstream stream("/proc/self/cmdline");
  std::string command((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!command.empty()) command.pop_back();
  for (char& letter : command) {
    if (letter == '\0') letter = ' ';
  }
  // How the program was found says nothing about the measurement.
  command = "syncopate" + command.substr(std::min(command.find(' '), command.size()));
  return {.machine = machine_description(), .command = command};
}

JsonFile::JsonFile(const std::string& name) : name_(name), file_(name) {
  if (!file_) throw std::runtime_error("cannot write to " + name);
}

void JsonFile::write(const nlohmann::ordered_json& row) {
  file_ << row.dump() << std::endl;
  if (!file_) throw std::runtime_error("cannot write to " + name_);
}

void name_fabric(const Request& request, nlohmann::ordered_json& row) {
  if (request.fabric.empty()) return;
  row["fabric"] = request.fabric;
  row["machines"] = request.machines();
}

void print_introduction(const Request& request, const Setting& setting) {
  fmt::print("# {}: {}, float32, {}\n", request.work.operation, counted(request.ranks, "rank"),
             request.work.operation == "group" ? "mean of weights" : "sum");
  fmt::print("# {}\n", skew_in_words(request));
  if (request.work.operation == "group") {
    fmt::print("# groups of {}; all together every {} steps (0: never)\n", request.work.group_size,
               request.work.synchronize_every);
  }
  if (const NeighborOptions& beside = request.neighbors; beside.count > 0) {
    fmt::print("# beside {}{}{}\n", counted(beside.count, "busy neighbor"),
               beside.pinned ? ", each on a core of its own" : "",
               beside.nice > 0 ? fmt::format(", with nice {}", beside.nice) : "");
  }
  fmt::print("# time of a call: mean over the ranks; then over the calls; then the median of {}\n",
             counted(request.repetitions, "repetition"));
  fmt::print("# machine: {}\n", setting.machine);
  if (setting.copy_bandwidth > 0) {
    fmt::print("# memory copy: {:.1f} GB/s read and written, all cores at once\n",
               setting.copy_bandwidth);
  }
  if (!request.ours.note.empty()) fmt::print("# {}: {}\n", request.ours.name, request.ours.note);
  for (const Side& peer : request.peers.found)
    fmt::print("# {}: {}\n", peer.name, base::printable(peer.note));
  std::fflush(stdout);
  for (const std::string& sentence : request.peers.missing) {
    fmt::print(stderr, "syncopate: {}\n", base::printable(sentence));
  }
}

void report(const Request& request, const Setting& setting, const Comparison& comparison,
            JsonFile* file) {
  if (const int machines = machines_of(comparison.rows.front()); machines > 1) {
    fmt::print("# {}: on {}\n", request.ours.name, counted(machines, "machine"));
  }
  print_table(request, setting, comparison);
  if (file == nullptr) return;
  for (const Measured& row : comparison.rows) {
    file->write(to_json(request, setting, comparison, row));
  }
}

}  // namespace syncopate::cli::bench

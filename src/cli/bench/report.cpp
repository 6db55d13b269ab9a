#include "cli/bench/report.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <stdexcept>

#include "cli/bench/machine.h"
#include "cli/bench/sizes.h"
#include "cli/bench/table.h"

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

double algorithm_bandwidth(const Measured& row) {
  return double(row.bytes) / (row.figure("median_us") * 1e-6) * 1e-9;
}

struct Field {
  Column column;
  std::function<std::string(const Measured&)> cell;
};

/// A column with one figure of a row.
Field field(const char* heading, const char* figure, int width = 0, double factor = 1) {
  Field result;
  result.column.heading = heading;
  result.column.width = width;
  result.cell = [figure, factor](const Measured& row) {
    return format_number(row.figure(figure) * factor);
  };
  return result;
}

/// Fields of our own figures, by benchmark.
std::vector<Field> own_fields(const Request& request, const Setting& setting) {
  constexpr int kTimeWidth = 10;
  std::vector<Field> fields = {
      {{"bytes", 8}, [](const Measured& row) { return format_size(row.bytes); }}};
  if (request.work.skew == Skew::none) {
    fields.push_back(field("median us", "median_us", kTimeWidth));
    fields.push_back(field("p99 us", "p99_us", kTimeWidth));
    fields.push_back({{"algbw GB/s", 0},
                      [](const Measured& row) { return format_number(algorithm_bandwidth(row)); }});
    fields.push_back({{"of copy limit", 0}, [&](const Measured& row) {
                        const double share = copy_limit_share(request, setting, row);
                        return share > 0 ? fmt::format("{:.0f} %", share * 100) : "";
                      }});
    return fields;
  }
  fields.push_back({{"trigger", 9, true}, [](const Measured& row) { return row.trigger; }});
  if (request.work.skew == Skew::chronic) {
    fields.push_back(field("ms per step", "mean_us", 0, 1e-3));
    fields.push_back(field("rounds/s", "rounds_per_second"));
  } else {
    fields.push_back(field("mean us", "mean_us", kTimeWidth));
    fields.push_back(field("p99 us", "p99_us", kTimeWidth));
  }
  fields.push_back(field("contributors", "contributors_mean"));
  if (request.work.operation == "group") fields.push_back(field("in time", "included_share"));
  if (request.work.operation == "partial" && request.work.skew == Skew::arrival) {
    fields.push_back(field("of them fresh", "fresh_mean"));
  }
  return fields;
}

const Measured* find(const Comparison& comparison, const std::string& peer, std::size_t bytes) {
  for (const Measured& row : comparison.rows) {
    if (row.peer == peer && row.bytes == bytes) return &row;
  }
  return nullptr;
}

/// One column for each peer, then the ratio.
void add_peer_fields(std::vector<Field>& fields, const Request& request,
                     const Comparison& comparison) {
  const bool steps = request.work.skew == Skew::chronic;
  for (const Side& peer : request.peers.found) {
    const std::string heading = peer.name + (steps ? " ms" : " us");
    fields.push_back({{heading, 10}, [&, steps, name = peer.name](const Measured& row) {
                        const Measured* found = find(comparison, name, row.bytes);
                        if (found == nullptr) return std::string("failed");
                        const double value = found->figure(headline(request));
                        return format_number(steps ? value * 1e-3 : value);
                      }});
  }
  if (request.peers.found.empty()) return;
  fields.push_back({{"best peer / ours", 0}, [&](const Measured& row) {
                      const double value = ratio(comparison, row, headline(request));
                      return value > 0 ? format_number(value) : "";
                    }});
}

void print_table(const Request& request, const Setting& setting, const Comparison& comparison) {
  std::vector<Field> fields = own_fields(request, setting);
  add_peer_fields(fields, request, comparison);
  std::vector<Column> columns;
  for (const Field& field : fields) columns.push_back(field.column);
  const Table table(columns);
  fmt::print("{}\n", table.header("# "));
  for (const Measured& row : comparison.rows) {
    if (row.peer != "syncopate") continue;
    std::vector<std::string> cells;
    for (const Field& field : fields) cells.push_back(field.cell(row));
    fmt::print("{}\n", table.row(cells, "  "));
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
  if (request.work.skew != Skew::chronic) json["algbw_GBps"] = algorithm_bandwidth(row);
  json["contributors_mean"] = row.figure("contributors_mean");
  if (!request.peers.found.empty()) {
    json["ratio_to_best_peer"] = ratio(comparison, row, "median_us");
    json["mean_ratio_to_best_peer"] = ratio(comparison, row, "mean_us");
  }
  if (const double share = copy_limit_share(request, setting, row); share > 0) {
    json["copy_limit_share"] = share;
    json["copy_bandwidth_GBps"] = setting.copy_bandwidth;
  }
  for (const auto& [name, value] : row.figures.items()) {
    if (!json.contains(name)) json[name] = value;
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
      return fmt::format("nobody is late; {}{}",
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

void print_introduction(const Request& request, const Setting& setting) {
  fmt::print("# {}: {} ranks, float32, {}\n", request.work.operation, request.ranks,
             request.work.operation == "group" ? "mean of weights" : "sum");
  fmt::print("# {}\n", skew_in_words(request));
  if (request.work.operation == "group") {
    fmt::print("# groups of {}; all together every {} steps (0: never)\n", request.work.group_size,
               request.work.synchronise_every);
  }
  fmt::print(
      "# time of a call: mean over the ranks; then over the calls; then the median of {} {}\n",
      request.repetitions, request.repetitions == 1 ? "repetition" : "repetitions");
  fmt::print("# machine: {}\n", setting.machine);
  if (setting.copy_bandwidth > 0) {
    fmt::print("# memory copy: {:.1f} GB/s read and written, all cores at once\n",
               setting.copy_bandwidth);
  }
  for (const Side& peer : request.peers.found) fmt::print("# {}: {}\n", peer.name, peer.note);
  std::fflush(stdout);
  for (const std::string& sentence : request.peers.missing) {
    fmt::print(stderr, "syncopate: {}\n", sentence);
  }
}

void report(const Request& request, const Setting& setting, const Comparison& comparison,
            JsonFile* file) {
  print_table(request, setting, comparison);
  if (file == nullptr) return;
  for (const Measured& row : comparison.rows) {
    file->write(to_json(request, setting, comparison, row));
  }
}

}  // namespace syncopate::cli::bench

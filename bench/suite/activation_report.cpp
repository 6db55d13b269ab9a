#include "bench/suite/activation_report.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/printable.h"
#include "bench/suite/compare.h"
#include "bench/suite/report.h"
#include "bench/suite/sizes.h"
#include "cli/console/arguments.h"
#include "cli/console/option.h"
#include "cli/console/phrases.h"
#include "cli/console/table.h"
#include "launch/launcher.h"

namespace syncopate::cli::bench {

namespace {

constexpr const char* kMachines = "2,4,8,16";
constexpr const char* kFabric = "openmpi";
constexpr long kFewestMachines = 2;
/// A multiple of all these numbers of machines: every rank arrives as often.
constexpr int kActivations = 320;
/// From the barrier to the arrival. Those who wait have come by then, and look for it without
/// sleeping where cores are free; agents of machines where no rank waits have gone to sleep.
constexpr double kPauseWaitingMs = 2;
constexpr double kPauseAwayMs = 10;

Defaults activation_defaults(const std::string& fabric) {
  return {.operation = "activation",
          .bytes = "8",
          .triggers = "first",
          .against = fabric,
          .repetitions = 3,
          .iterations = kActivations,
          .fabric = kFabric};
}

/// In the order of ours.
constexpr std::array kOthers = {peers::Others::wait, peers::Others::away, peers::Others::compute};

/// Ours whatever the others do, and each peer, whose others must wait.
std::vector<Entry> activation_entries(const Request& request) {
  peers::Workload work = request.work;
  work.trigger = "first";
  std::vector<Entry> entries;
  for (const peers::Others others : kOthers) {
    work.others = others;
    work.skew_ms = others == peers::Others::wait ? kPauseWaitingMs : kPauseAwayMs;
    entries.push_back({request.ours, work});
  }
  work.trigger = "all";
  work.others = peers::Others::wait;
  work.skew_ms = kPauseWaitingMs;
  for (const Side& peer : request.peers.found) entries.push_back({peer, work});
  return entries;
}

nlohmann::ordered_json activation_json(const Request& request, const Setting& setting,
                                       const Comparison& comparison, std::size_t at) {
  const Measured& row = comparison.rows[at];
  nlohmann::ordered_json json = {
      {"peer", row.peer},
      {"operation", "activation"},
      {"trigger", row.trigger},
      {"others", at < kOthers.size() ? kOthers[at] : peers::Others::wait},
      {"fabric", request.fabric},
      {"machines", request.machines()},
      {"ranks", request.ranks},
      {"bytes", row.bytes},
      {"median_us", row.figure("median_us")},
      {"p99_us", row.figure("p99_us")},
      {"mean_us", row.figure("mean_us")},
  };
  for (const auto& [name, value] : row.figures.items()) {
    if (!json.contains(name)) json[name] = value;
  }
  json["repetitions"] = request.repetitions;
  json["machine"] = setting.machine;
  json["command"] = setting.command;
  return json;
}

Table activation_table(const Request& request) {
  std::vector<Column> columns = {
      {"machines", 0},        {"others wait: us", 0}, {"p99 us", 9},
      {"others away: us", 0}, {"p99 us", 9},          {"others compute: on us", 0},
      {"p99 us", 9},          {"there us", 9},        {"p99 us", 9}};
  for (const Side& peer : request.peers.found) {
    columns.push_back({peer.name + " us", 9});
    columns.push_back({"p99 us", 9});
  }
  return Table(columns);
}

/// How each side is run, where that differs from what was said of fewer machines: MPI yields where
/// ranks outnumber cores.
void explain_sides(const Request& request, const Request* before) {
  const auto explain = [&](const Side& side, const Side* same) {
    if (same != nullptr && side.note == same->note) return;
    fmt::print("# {}{}: {}\n", side.name,
               same == nullptr ? "" : fmt::format(" on {} machines", request.machines()),
               base::printable(side.note));
  };
  explain(request.ours, before == nullptr ? nullptr : &before->ours);
  for (std::size_t i = 0; i < request.peers.found.size(); ++i) {
    explain(request.peers.found[i], before == nullptr ? nullptr : &before->peers.found.at(i));
  }
}

void explain_activation(const std::vector<Request>& requests, const Setting& setting) {
  const Request& common = requests.front();
  fmt::print(
      "# activation: one rank, each in turn, deposits {} bytes; the time is from there until the\n"
      "# last rank has the round. The others wait for it, or are away and no rank waits on their\n"
      "# machines; with MPI they wait in MPI_Allreduce. Or they compute: until the round is on,\n"
      "# with the last machine's part taken, and until the rank that arrived has it there. Medians "
      "over\n"
      "# {} arrivals, then over {}.\n"
      "# machine: {}\n",
      common.work.bytes.front(), common.work.iterations, counted(common.repetitions, "repetition"),
      setting.machine);
  const Request* before = nullptr;
  for (const Request& request : requests) {
    explain_sides(request, before);
    before = &request;
  }
  std::fflush(stdout);
  for (const std::string& sentence : common.peers.missing) {
    fmt::print(stderr, "syncopate: {}\n", base::printable(sentence));
  }
}

std::vector<std::string> activation_cells(const Request& request, const Comparison& comparison) {
  std::vector<std::string> cells = {std::to_string(request.machines())};
  const auto add = [&](const Measured* row, const std::string& what = "") {
    for (const char* figure : {"median_us", "p99_us"}) {
      cells.push_back(row == nullptr ? "failed" : format_number(row->figure(what + figure)));
    }
  };
  for (std::size_t row = 0; row < kOthers.size(); ++row) {
    if (kOthers[row] == peers::Others::compute) add(&comparison.rows.at(row), "taken_part_");
    add(&comparison.rows.at(row));
  }
  for (const Side& peer : request.peers.found) {
    const Measured* found = nullptr;
    for (const Measured& row : comparison.rows) {
      if (row.peer == peer.name) found = &row;
    }
    add(found);
  }
  return cells;
}

}  // namespace

void add_activation_options(CLI::App& command, Typed& typed) {
  const Defaults defaults = activation_defaults(kFabric);
  add_option(command, "--machines", typed.machines, "LIST",
             fmt::format("Numbers of machines; {} if not given", kMachines));
  add_fabric_options(command, typed, defaults);
  add_option(command, "--iterations", typed.iterations, "N",
             fmt::format("Arrivals per run; {} if not given", kActivations));
  add_option(command, "--against", typed.against, "LIST",
             "Peers on the same work: openmpi, mpich, mpi (both) or none; the fabric's MPI if "
             "not given");
  add_run_options(command, typed, defaults);
}

std::vector<Request> checked_activation(const Typed& typed) {
  const Defaults defaults =
      activation_defaults(typed.fabric.empty() ? kFabric : named_fabric(typed.fabric));
  for (const std::string& peer : split_list(typed.against)) {
    if (!peer.empty() && peer != "openmpi" && peer != "mpich" && peer != "mpi" && peer != "none") {
      throw UsageError(
          fmt::format("--against must be openmpi, mpich, mpi or none here, not '{}'", peer));
    }
  }
  const long each = typed.ranks_each.empty() ? 1
                                             : whole_number("--ranks-each", typed.ranks_each, 1,
                                                            launch::kMostRanks / kFewestMachines);
  std::vector<Request> requests;
  for (const std::string& text : split_list(typed.machines.empty() ? kMachines : typed.machines)) {
    Typed one = typed;
    one.ranks = std::to_string(
        each * whole_number("--machines", text, kFewestMachines, launch::kMostRanks / each));
    requests.push_back(checked(one, defaults));
  }
  return requests;
}

int run_activation(const std::vector<Request>& requests) {
  const Request& common = requests.front();
  std::optional<JsonFile> file;
  if (!common.json_file.empty()) file.emplace(common.json_file);
  const Setting setting = current_setting();
  explain_activation(requests, setting);
  const Table table = activation_table(common);
  fmt::print("{}\n", table.header("# "));
  bool failed = false;
  for (const Request& request : requests) {
    const Comparison comparison =
        compare(activation_entries(request), request.repetitions, request.timeout_seconds);
    fmt::print("{}\n", table.row(activation_cells(request, comparison), "  "));
    std::fflush(stdout);
    for (std::size_t row = 0; file && row < comparison.rows.size(); ++row) {
      file->write(activation_json(request, setting, comparison, row));
    }
    for (const std::string& failure : comparison.failures) {
      fmt::print(stderr, "syncopate: {}\n", base::printable(failure));
      failed = true;
    }
  }
  return failed ? 1 : 0;
}

}  // namespace syncopate::cli::bench

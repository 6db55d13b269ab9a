#include "bench/suite/idle_report.h"

#include <fmt/format.h>

#include <optional>

#include "bench/suite/compare.h"
#include "bench/suite/rank.h"
#include "bench/suite/report.h"
#include "cli/console/table.h"

namespace syncopate::cli::bench {

namespace {

void explain_idle(const Request& request, const Setting& setting) {
  fmt::print(
      "# idle: {} ranks with a collective open sleep {} s; what each process takes of one core\n"
      "# meanwhile, all its threads together, and how often they wake up. Medians of {}.\n"
      "# machine: {}\n"
      "# {}: {}\n",
      request.ranks, request.work.seconds, request.repetitions, setting.machine, request.fabric,
      request.ours.note);
  std::fflush(stdout);
}

nlohmann::ordered_json idle_json(const Request& request, const Setting& setting,
                                 const std::string& fabric, int machines, const Measured& row) {
  nlohmann::ordered_json json = {{"peer", row.peer},
                                 {"operation", "idle"},
                                 {"fabric", fabric},
                                 {"machines", machines},
                                 {"ranks", request.ranks}};
  for (const auto& [name, value] : row.figures.items()) json[name] = value;
  json["repetitions"] = request.repetitions;
  json["machine"] = setting.machine;
  json["command"] = setting.command;
  return json;
}

}  // namespace

int run_idle(const Request& request) {
  std::optional<JsonFile> file;
  if (!request.json_file.empty()) file.emplace(request.json_file);
  const Setting setting = current_setting();
  explain_idle(request, setting);
  const Comparison comparison =
      compare({{our_side(request.ranks, kRankCommand), request.work}, {request.ours, request.work}},
              request.repetitions, request.timeout_seconds);
  const Table table({{"between boards", 0, true},
                     {"boards", 0},
                     {"of a core", 9},
                     {"at most", 9},
                     {"wake-ups/s", 0},
                     {"at most", 9}});
  fmt::print("{}\n", table.header("# "));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const Measured& row = comparison.rows[i];
    const std::string fabric = i == 0 ? "none" : request.fabric;
    const int boards = i == 0 ? 1 : request.machines();
    fmt::print("{}\n", table.row({fabric, std::to_string(boards),
                                  fmt::format("{:.2f} %", row.figure("core_percent_mean")),
                                  fmt::format("{:.2f} %", row.figure("core_percent_most")),
                                  fmt::format("{:.0f}", row.figure("wakeups_per_second_mean")),
                                  fmt::format("{:.0f}", row.figure("wakeups_per_second_most"))},
                                 "  "));
    if (file) file->write(idle_json(request, setting, fabric, boards, row));
  }
  return 0;
}

}  // namespace syncopate::cli::bench

#include "bench/suite/tax_report.h"

#include <fmt/format.h>

#include <optional>

#include "bench/suite/rank.h"
#include "bench/suite/report.h"
#include "bench/suite/side.h"
#include "bench/suite/sizes.h"
#include "bench/suite/tax.h"
#include "cli/console/progress.h"
#include "cli/console/table.h"

namespace syncopate::cli::bench {

namespace {

nlohmann::ordered_json to_json(const Request& request, const Setting& setting,
                               const nlohmann::json& figures) {
  nlohmann::ordered_json json = {
      {"peer", "syncopate"}, {"operation", "tax"}, {"trigger", "first"}, {"ranks", request.ranks}};
  name_fabric(request, json);
  for (const auto& [name, value] : figures.items()) json[name] = value;
  json["repetitions"] = request.repetitions;
  json["machine"] = setting.machine;
  json["command"] = setting.command;
  return json;
}

void explain_tax(const Request& request, const Setting& setting) {
  fmt::print(
      "# tax: rank 0 of {} computes {} s of arithmetic in its own cache, in steps.\n"
      "# The others are parked, or do arithmetic (a busy neighbor, without the library), or run\n"
      "# rounds one after another, which rank 0 joins between its steps. In turn, medians of {}.\n"
      "# machine: {}\n",
      request.ranks, request.work.seconds, request.repetitions, setting.machine);
  std::fflush(stdout);
}

}  // namespace

int run_tax(const Request& request) {
  std::optional<JsonFile> file;
  if (!request.json_file.empty()) file.emplace(request.json_file);
  const Setting setting = current_setting();
  explain_tax(request, setting);
  const Table table({{"bytes", 8},
                     {"parked ms", 0},
                     {"busy ms", 0},
                     {"rounds ms", 0},
                     {"slowdown", 0},
                     {"over busy", 0},
                     {"by processor time", 0},
                     {"rounds/s", 9},
                     {"window full", 0},
                     {"threads", 0}});
  fmt::print("{}\n", table.header("# "));
  Progress progress;
  for (const std::size_t bytes : request.work.bytes) {
    progress.show(fmt::format("computing beside rounds of {} bytes", format_size(bytes)));
    nlohmann::json work = TaxWork{
        .bytes = bytes, .repetitions = request.repetitions, .seconds = request.work.seconds};
    work["operation"] = "tax";
    const auto row = run_side(request.ours, work, request.timeout_seconds).at(0);
    const auto number = [&](const char* name) { return row.at(name).get<double>(); };
    const auto percent = [&](const char* name) { return fmt::format("{:.2f} %", number(name)); };
    progress.clear();
    fmt::print(
        "{}\n",
        table.row({format_size(bytes), fmt::format("{:.2f}", number("parked_us") / 1e3),
                   fmt::format("{:.2f}", number("busy_us") / 1e3),
                   fmt::format("{:.2f}", number("median_us") / 1e3), percent("slowdown_percent"),
                   percent("slowdown_over_busy_percent"), percent("processor_slowdown_percent"),
                   fmt::format("{:.0f}", number("rounds_per_second")),
                   fmt::format("{:.0f} %", number("window_full_percent")),
                   fmt::format("{}", row.at("threads").get<int>())},
                  "  "));
    std::fflush(stdout);
    if (file) file->write(to_json(request, setting, row));
  }
  return 0;
}

}  // namespace syncopate::cli::bench

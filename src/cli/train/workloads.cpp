// `syncopate workloads`: what there is to train.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/train/commands.h"
#include "train/workload.h"

namespace syncopate::cli {
namespace {

void list() {
  for (const train::Workload& workload : train::workloads()) {
    const train::Defaults& usual = workload.defaults;
    fmt::print("{}\n    models     {}\n    data       {}\n    imbalance  {}\n", workload.name,
               fmt::join(workload.models, ", "), workload.data, workload.imbalance);
    fmt::print("    usually    batch {}, {} at rate {}{}, {:g} epochs, target {} {:g}{}\n",
               usual.batch, usual.optimizer, usual.rate,
               usual.rate_for > 0
                   ? fmt::format(" (less for steps of fewer than {} samples)", usual.rate_for)
                   : "",
               usual.epochs, workload.regression ? "loss" : "accuracy",
               workload.regression ? usual.target : 100 * usual.target,
               workload.regression ? "" : " %");
    if (usual.pace_ms > 0) {
      fmt::print("    pace       {:g} ms per {} where ranks outnumber cores\n", usual.pace_ms,
                 workload.unit);
    }
    fmt::print("\n");
  }
  fmt::print(
      "'make data' fetches the real data sets. Example:\n"
      "  syncopate train --workload hyperplane --strategy eager-solo -n 8\n");
}

}  // namespace

void add_workloads(CLI::App& program) {
  program.add_subcommand("workloads", "List what can be trained")->callback(list);
}

}  // namespace syncopate::cli

#include "bench/suite/rank.h"

#include <cstdio>
#include <stdexcept>

#include "bench/peers/measure.h"
#include "bench/suite/activation.h"
#include "bench/suite/idle.h"
#include "bench/suite/ours.h"
#include "bench/suite/tax.h"

namespace syncopate::cli::bench {

namespace {

template <typename Side, typename... Take>
void run(World world, const peers::Workload& work, const Take&... take) {
  Side side(std::move(world), work);
  peers::run(side, work, take...);
}

/// Runs a benchmark of a collective; false if the operation is not one.
template <typename... Take>
bool run_collective(const World& world, const peers::Workload& work, const Take&... take) {
  if (!runs_anywhere(work.operation)) return false;
  if (work.operation == "allreduce") run<OurAllreduce>(world, work, take...);
  if (work.operation == "partial") run<OurPartial>(world, work, take...);
  if (work.operation == "group") run<OurGroup>(world, work, take...);
  return true;
}

}  // namespace

bool runs_anywhere(const std::string& operation) {
  return operation == "allreduce" || operation == "partial" || operation == "group";
}

std::vector<nlohmann::json> measure_here(const World& world, const peers::Workload& work) {
  std::vector<nlohmann::json> rows;
  run_collective(world, work, [&](nlohmann::json row) {
    row["machines"] = world.machines();
    rows.push_back(std::move(row));
  });
  return rows;
}

void run_rank(const std::string& work) {
  const auto json = nlohmann::json::parse(work);
  World world = World::from_environment();
  const std::string operation = json.at("operation");
  if (operation == "tax") {
    const bool first = world.rank() == 0;
    const nlohmann::json row = measure_tax(std::move(world), json.get<TaxWork>());
    if (first) std::printf("%s\n", row.dump().c_str());
    return;
  }
  const auto load = json.get<peers::Workload>();
  if (run_collective(world, load)) return;
  if (operation == "activation") {
    OurActivation side(std::move(world), load);
    return peers::run_activation(side, load);
  }
  if (operation == "idle") {
    const bool speaks = world.rank() == 0;
    const nlohmann::json row = measure_idle(std::move(world), load);
    if (speaks) std::printf("%s\n", row.dump().c_str());
    return;
  }
  throw std::invalid_argument("there is no operation '" + operation + "'");
}

}  // namespace syncopate::cli::bench

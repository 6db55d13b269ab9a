#include "cli/bench/rank.h"

#include <cstdio>
#include <stdexcept>

#include "bench/peers/measure.h"
#include "cli/bench/activation.h"
#include "cli/bench/idle.h"
#include "cli/bench/ours.h"
#include "cli/bench/tax.h"

namespace syncopate::cli::bench {

namespace {

template <typename Side>
void run(World world, const peers::Workload& work) {
  Side side(std::move(world), work);
  peers::run(side, work);
}

}  // namespace

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
  if (operation == "allreduce") return run<OurAllreduce>(std::move(world), load);
  if (operation == "partial") return run<OurPartial>(std::move(world), load);
  if (operation == "group") return run<OurGroup>(std::move(world), load);
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

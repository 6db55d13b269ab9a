// `syncopate strategies`: what there is to choose from.
#include <fmt/format.h>

#include <string>

#include "cli/commands.h"
#include "strategy/specification.h"
#include "syncopate/strategy.h"

namespace syncopate::cli {
namespace {

constexpr const char* kHowToWriteOne =
    R"(A strategy is written name[:value...][:key=value...], for example wagma:4:10 or
eager-solo:window=16:anticipate=off; a list of them is separated by commas.)";

using strategy::form;
using strategy::Keys;

void list() {
  for (const StrategyDescription& strategy : strategies()) {
    fmt::print("{}\n    {}\n    {}\n", form(strategy, Keys::left_out), strategy.summary,
               strategy.paper);
    for (const auto& parameter : strategy.parameters) {
      const std::string standard =
          parameter.standard.empty() ? "must be given" : parameter.standard + " if not given";
      fmt::print("      {:<17} {} ({})\n",
                 parameter.by_place ? parameter.name : parameter.name + "=", parameter.meaning,
                 standard);
    }
    fmt::print("\n");
  }
  fmt::print("{}\n", kHowToWriteOne);
}

}  // namespace

void add_strategies(CLI::App& program) {
  program.add_subcommand("strategies", "List the strategies, with their parameters and papers")
      ->footer(kHowToWriteOne)
      ->callback(list);
}

}  // namespace syncopate::cli

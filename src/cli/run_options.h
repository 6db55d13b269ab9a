// The options of `syncopate run`: as they are typed, and the checked job that they make.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.h"

namespace syncopate::cli {

/// What was typed, before it is checked.
struct TypedRun {
  std::optional<std::string> ranks;
  std::optional<std::string> timeout;
  std::optional<std::string> wait_timeout;
  std::optional<std::string> kill_after;
  bool survive = false;
  bool no_prefix = false;
};

void add_run_options(CLI::App& command, TypedRun& typed);

/// Throws UsageError if there are arguments before `--` that are not options of ours.
void refuse_rest(const std::vector<std::string>& rest);

/// The job that was asked for; `command` is what stood after `--`. Throws UsageError.
launch::LaunchOptions checked_run(const TypedRun& typed, const std::vector<std::string>& command);

}  // namespace syncopate::cli

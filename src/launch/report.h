// How the process that has run a job tells its parent, which is the same program, what came of it:
// the result, or the exception that ended it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launch/launcher.h"

namespace syncopate::launch {

/// Runs the job and puts what it returns or throws into bytes.
std::string report_of(const std::function<LaunchResult()>& job);

/// Returns or throws what the job did. Nothing if the report is not whole: its writer was killed.
std::optional<LaunchResult> read_report(std::string_view report);

}  // namespace syncopate::launch

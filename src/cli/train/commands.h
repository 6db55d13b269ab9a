// The commands of `syncopate-train`, one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace syncopate::cli {

void add_train(CLI::App& program, int& exit_code);
void add_compare(CLI::App& program, int& exit_code);
void add_workloads(CLI::App& program);
/// Hidden: one rank of a run.
void add_rank(CLI::App& program);

}  // namespace syncopate::cli

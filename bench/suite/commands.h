// The commands of `syncopate-bench`, one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace syncopate::cli {

/// What collectives cost, beside MPI and Gloo.
void add_bench(CLI::App& program, int& exit_code);

/// A short tour of partial collectives.
void add_tour(CLI::App& program, int& exit_code);

}  // namespace syncopate::cli

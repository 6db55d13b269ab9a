// `syncopate train` as a user starts it, on the workload that needs no data, and what it leaves.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "process/program.h"
#include "train/made_up.h"
#include "train/saved_weights.h"

namespace syncopate::testing {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

inline Strings command(const std::string& name, const Strings& options) {
  Strings all{SYNCOPATE_CLI_PATH, name};
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

/// A small run of hyperplane in `runs`, with `more` options.
inline Strings training(const fs::path& runs, const Strings& more) {
  Strings options{"-w", "hyperplane", "--batch", "4", "--rate", "0.0001", "--runs", runs};
  options.insert(options.end(), more.begin(), more.end());
  return command("train", options);
}

struct Ended {
  int code = 0;
  std::string out, err;
};

inline Ended run(const Strings& command) {
  Program program(command);
  const int code = program.wait();
  return {code, program.out(), program.err()};
}

inline nlohmann::json json_of(const fs::path& file) { return nlohmann::json::parse(text_of(file)); }

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Looks until `condition` holds.
template <typename Condition>
void await(const Condition& condition, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("never: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

inline void await_checkpoint(const fs::path& runs) {
  await([&] { return fs::exists(runs / "latest" / "checkpoint" / "rank-0.safetensors"); },
        "a checkpoint");
}

/// The processes whose commands name a directory below `runs`, by what each has for `variable`.
inline std::map<std::string, pid_t> processes_by(const std::string& variable,
                                                 const fs::path& runs) {
  std::map<std::string, pid_t> found;
  const std::string begin = std::string(1, '\0') + variable + '=';
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (!has(text_of(entry.path() / "cmdline"), runs.string())) continue;
    const std::string environment = '\0' + text_of(entry.path() / "environ");
    const auto at = environment.find(begin);
    if (at == std::string::npos) continue;
    found[environment.c_str() + at + begin.size()] = std::stoi(entry.path().filename());
  }
  return found;
}

/// The process that is `rank` of the run whose directory is below `runs`.
inline pid_t process_of(const fs::path& runs, int rank) {
  return processes_by("SYNCOPATE_RANK", runs).at(std::to_string(rank));
}

}  // namespace syncopate::testing

// A small training with three checkpoints, the disk of which is watched and disturbed (faults.cpp).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "train/train_program.h"

namespace syncopate::testing {

constexpr int kCheckpoints = 3;

inline Strings small_training(const fs::path& runs) {
  return training(runs, {"-n", "2", "--momentum", "0.9", "--until", "rounds:6",
                         "--checkpoint-every", "16", "--evaluate-every", "0", "--pace", "off"});
}

/// In memory, if that is possible: these tests sync often, which takes long while others use the
/// disk.
inline fs::path quick_place() {
  const fs::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

/// Where a training works that is watched: its runs, and beside them the record of its calls.
class Bench {
 public:
  /// `plain`: its file system cannot exchange two names.
  explicit Bench(bool plain = false) : plain_(plain) { fs::create_directory(disk()); }

  fs::path disk() const { return folder_.path() / "disk"; }
  fs::path runs() const { return disk() / "runs"; }

  /// `fault`: see DISK_FAIL.
  Ended train(const std::string& fault = "") const {
    Strings words{"env",
                  "LD_PRELOAD=" SYNCOPATE_DISK_FAULTS,
                  "DISK_UNDER=" + disk().string(),
                  "DISK_LOG=" + log().string(),
                  "DISK_FAIL=" + fault,
                  std::string("DISK_PLAIN=") + (plain_ ? "1" : "")};
    for (const auto& word : small_training(runs())) words.push_back(word);
    const Ended ended = run(words);
    // If the process that started them is killed, ranks are killed a moment later.
    await([&] { return processes_by("SYNCOPATE_RANK", folder_.path()).empty(); }, "all have ended");
    return ended;
  }

  /// The calls, in their order.
  Strings record() const {
    Strings lines;
    std::istringstream text(text_of(log()));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

 private:
  fs::path log() const { return folder_.path() / "log"; }

  TemporaryFolder folder_{quick_place()};
  bool plain_;
};

/// The directory of the only run, if it has one already.
inline std::optional<fs::path> run_in(const fs::path& runs) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(runs, none)) {
    if (!entry.is_symlink() && fs::exists(entry.path() / "config.json")) return entry.path();
  }
  return std::nullopt;
}

/// Whether by this call a new checkpoint takes its place.
inline bool takes_place(const std::string& line) {
  return (line.starts_with("rename ") || line.starts_with("exchange ")) &&
         has(line, "/checkpoint #");
}

}  // namespace syncopate::testing

// What campaigns and the soak share about trainings that run as programs: how one is started, what
// it has saved, which of its processes is which rank, and whether it leaves any behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "campaign/job.h"

namespace syncopate::campaign {

/// `syncopate train` on the workload that needs no data, with run directories in `runs`.
std::vector<std::string> train_command(const std::string& strategy, int ranks,
                                       const std::filesystem::path& runs,
                                       const std::vector<std::string>& more);

/// When a run was saved last; the beginning of time if it was not.
std::filesystem::file_time_type saved_at(const std::filesystem::path& run);

/// Which rank a process is, if it is one.
std::optional<int> rank_of(pid_t process);

/// Waits until the processes that a program has started have ended, or for long enough. Returns
/// those that are left.
std::vector<pid_t> left_behind(const Started& program);

/// A process that is stopped for a while.
class BriefStop {
 public:
  using Clock = std::chrono::steady_clock;

  bool on() const { return process_ > 0; }
  void begin(pid_t process, Clock::duration lasting);
  /// Lets it go on if it is time.
  void end_if_due();

 private:
  pid_t process_ = -1;
  Clock::time_point until_{};
};

}  // namespace syncopate::campaign

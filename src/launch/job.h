// One run of a job: an event loop over the ranks' output, the launcher's signals and deadlines. It
// needs a process of its own (apart.h), as it takes every child of the process for one of the job.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "board/launcher_board.h"
#include "launch/launcher.h"
#include "launch/output.h"
#include "launch/process.h"
#include "launch/signals.h"

namespace syncopate::launch {

class Job {
 public:
  /// `lifeline` becomes readable when the process that wants the result has ended.
  Job(const LaunchOptions& options, int lifeline);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  LaunchResult run();

 private:
  using Clock = std::chrono::steady_clock;

  enum class Phase {
    running,    ///< Ranks run, all of them or, with `survive`, some.
    ending,     ///< The ranks have been asked to end; at the deadline they are killed.
    killing,    ///< The ranks have been killed; the kernel has yet to hand them over.
    leftovers,  ///< All ranks have ended. What they left running has a moment to end by itself.
    sweeping,   ///< What they left running has been killed, and so is what comes to light by that.
    flushing,   ///< No process is left. The rest of the output is written.
    done,
  };

  struct Rank {
    pid_t process = 0;  // 0 before it is started and after it has ended
    std::unique_ptr<RankStream> out;
    std::unique_ptr<RankStream> err;
    RankOutcome outcome;
  };

  // Starting (start.cpp).
  using Variables = std::vector<std::pair<std::string, std::string>>;
  /// Where a rank writes.
  struct Outputs {
    Descriptor out;
    Descriptor err;
  };
  void start_ranks();
  bool start_rank(int number, int null_input);
  Variables variables_of(int number) const;
  Outputs open_outputs(int number);

  // What can happen (job.cpp).
  void wait_for_events();
  void handle(int signal);
  void abandon();
  void reap();
  void handle_deadline();
  void rank_ended(Rank& rank, int number, int status);

  // What is done about it.
  void end_ranks(int signal);
  void kill_ranks();
  void begin_leftovers();
  void look_for_leftovers();
  void begin_flushing();

  void send(int signal) const;
  void say(const std::string& sentence);
  void conclude(int exit_code);
  std::string running_ranks() const;
  std::optional<Clock::time_point> next_deadline() const;

  const LaunchOptions& options_;
  int lifeline_;
  bool abandoned_ = false;  // the lifeline has ended
  Outlet out_;
  Outlet err_;
  SignalScope signals_;
  ReaperScope reaper_;
  OpenFilesScope open_files_;
  board::LauncherBoard board_;

  std::vector<Rank> ranks_;
  std::map<pid_t, int> rank_of_;
  int running_ = 0;

  Phase phase_ = Phase::running;
  struct Deadlines {
    Clock::time_point phase;
    std::optional<Clock::time_point> job;
  } deadlines_;
  struct Verdict {
    std::optional<int> code;           // the exit code, once something has decided it
    std::optional<int> first_failure;  // the code of the first rank that failed
  } verdict_;
};

}  // namespace syncopate::launch

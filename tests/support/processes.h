// Ranks as processes: forks one per rank on a fresh board, watches them, and ends them all when
// they take too long. The test's own process plays the launcher. It must have no other threads.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "board/launcher_board.h"
#include "syncopate/world.h"

namespace syncopate::testing {

/// How a rank's process ended, and what it printed.
struct Ending {
  int code = -1;   ///< What it exited with, or -1.
  int signal = 0;  ///< The signal that ended it, or 0.
  std::string said;
};

class Processes {
 public:
  /// What a rank's process does; the SYNCOPATE_* variables are set. An exception or a failed
  /// expectation makes it exit with code 1.
  using Body = std::function<void(int rank)>;

  Processes(int ranks, const Body& body);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  // Called from wait(), in the test's process.
  std::function<void(int rank)> on_stop;
  std::function<void(int rank)> on_end;
  std::function<void(int rank, const std::string& line)> on_line;

  /// Returns when all have ended. Past the deadline kills them all and fails the test.
  std::vector<Ending> wait(std::chrono::seconds deadline = std::chrono::seconds(60));

  void send(int rank, int signal);
  /// Calls `act` from wait() once the time has passed.
  void after(std::chrono::milliseconds delay, std::function<void()> act);
  pid_t pid(int rank) const { return ranks_[rank].pid; }
  board::LauncherBoard& meeting() { return board_; }

 private:
  struct Rank {
    pid_t pid = 0;
    int output = -1;
    bool ended = false;
    std::string partial_line;
    Ending ending;
  };
  using Clock = std::chrono::steady_clock;

  void start(int rank, const Body& body);
  void read_output(int rank);
  void reap();
  void act_in_time();
  bool all_over() const;
  std::string unfinished() const;

  board::LauncherBoard board_;
  int child_events_;
  std::vector<Rank> ranks_;
  std::multimap<Clock::time_point, std::function<void()>> agenda_;
};

/// Runs `body` in a process per rank and fails the test unless every one exits with code 0.
void on_processes(int ranks, const std::function<void(World&)>& body);

}  // namespace syncopate::testing

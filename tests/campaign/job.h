// Plays one life with real processes: starts the launcher, strikes its victims, has every segment
// judged, and looks afterwards whether anything was left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "campaign/book.h"
#include "campaign/judge.h"
#include "campaign/life.h"

namespace syncopate::campaign {

/// What was done so far, for the summary.
struct Tally {
  std::uint64_t lives = 0;
  std::uint64_t kills = 0;
  std::uint64_t launcher_kills = 0;
  std::uint64_t stops = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t losses = 0;  ///< Ranks that were told of a lost machine.
  std::uint64_t deposits = 0;
  std::uint64_t rounds = 0;
  std::uint64_t trainings = 0;
  std::uint64_t resumed = 0;

  std::string text() const;
};

/// A folder that is gone with this object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A command in a process of its own, marked so that all it starts can be found.
class Started {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  /// What it prints goes to the file `output`.
  Started(const std::vector<std::string>& command, const Variables& variables,
          const std::filesystem::path& output);
  ~Started();  ///< Kills whatever is left of it.
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void send(int signal) const;
  /// Whether it has ended; the code is then its exit code, or minus the signal.
  bool ended();
  int code() const { return code_; }
  pid_t process() const { return process_; }
  /// Processes that carry its mark, itself not counted.
  std::vector<pid_t> offspring() const;

 private:
  std::string mark_;
  pid_t process_ = -1;
  bool ended_ = false;
  int code_ = 0;
};

std::string text_of(const std::filesystem::path& file);

class Job {
 public:
  explicit Job(const Life& life);

  /// What went wrong, or nothing.
  std::string play(Tally& tally);

  // For a job that lasts: called often while it does.
  std::function<void(Job&)> meanwhile;

  const Life& life() const { return life_; }
  Book& book() { return *book_; }
  Started& launcher() { return launcher_; }
  bool alive(int rank);
  void strike(const Blow& blow, Tally& tally);
  /// What the ranks complain of.
  std::string complaints();
  /// Lets those go on whose time has come.
  void wake();

 private:
  using Clock = std::chrono::steady_clock;
  struct Due {
    Blow blow;
    bool done = false;
    Clock::time_point aimed{};
  };

  std::vector<std::string> command() const;
  Started::Variables variables() const;
  void strike_in_time(Tally& tally);
  void judge_segments(Tally& tally);
  Endings endings();
  std::string judge_the_end(Tally& tally);
  bool exit_code_is_right(int code);

  Life life_;
  SharedBook book_;
  Folder folder_;
  Started launcher_;
  Clock::time_point began_ = Clock::now();
  std::vector<Due> due_;
  std::vector<std::pair<Clock::time_point, int>> stopped_;
  std::uint32_t struck_dead_ = 0;
  bool launcher_struck_ = false;
  std::string problems_;
};

}  // namespace syncopate::campaign

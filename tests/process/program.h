// A program under test, in a process of its own: what it writes is read as it comes, and every
// wait is for something that happens, with a deadline.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace syncopate::testing {

class Program {
 public:
  /// Starts it with empty input still to come: see write_input() and end_input().
  explicit Program(const std::vector<std::string>& command);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void write_input(std::string_view text) const;
  void end_input();
  void send(int signal) const;

  /// Reads until `text` has been written `times` times to stdout or stderr.
  void wait_for(std::string_view text, int times = 1);
  /// No process reads the program's stdout any more.
  void close_output();
  /// Ends the input, reads the rest of the output and returns the exit code, or minus the signal.
  int wait();
  /// Whether it has ended. Reads nothing.
  bool ended() const;

  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  /// Lines of stdout that begin with `prefix`, without it.
  std::vector<std::string> lines(std::string_view prefix = "") const;

 private:
  bool read_more();

  pid_t process_ = -1;
  int input_ = -1;
  int out_pipe_ = -1;
  int err_pipe_ = -1;
  std::string out_;
  std::string err_;
};

/// The end of a process that is not a child of ours.
class Watched {
 public:
  explicit Watched(pid_t process);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// False if it is still there at the deadline.
  bool ends() const;

 private:
  int descriptor_;
};

}  // namespace syncopate::testing

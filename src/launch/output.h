// The way of the ranks' output: from a rank's pipe, cut into whole lines with the rank in front,
// into an outlet that is written only as fast as its reader reads. Nothing here ever blocks, so
// that a stuck reader (a pager, say) cannot keep the launcher from obeying signals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "launch/pipe.h"

namespace syncopate::launch {

/// What waits to be written to one descriptor of the launcher.
class Outlet {
 public:
  explicit Outlet(int descriptor);

  void append(std::string_view text);
  /// Call when poll() reports the descriptor: writes as much as cannot block.
  void write_some();
  void discard() { pending_.clear(), written_ = 0; }

  int descriptor() const { return descriptor_; }
  bool empty() const { return pending_.empty(); }
  bool full() const { return pending_.size() - written_ >= kEnough; }
  /// The errno with which writing failed, or 0. From then on everything is thrown away.
  int error() const { return error_; }

 private:
  // Ranks are held back beyond this, so that a slow reader costs them time and not us memory.
  static constexpr std::size_t kEnough = std::size_t{1} << 20;

  int descriptor_;
  bool regular_file_;
  int error_ = 0;
  std::string pending_;
  std::size_t written_ = 0;  // how much of pending_ has gone out
};

/// Cuts a stream of bytes into lines and puts a prefix before each.
class LinePrefixer {
 public:
  /// A longer line is cut into pieces of this size, so that memory stays bounded.
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10;

  LinePrefixer(std::string prefix, Outlet& outlet) : prefix_(std::move(prefix)), outlet_(outlet) {}

  void take(std::string_view bytes);
  /// Completes a last line that has no end.
  void flush();

 private:
  void emit();

  std::string prefix_;
  Outlet& outlet_;
  std::string line_;
};

/// The read end of one rank's stdout or stderr.
class RankStream {
 public:
  /// What is read goes line by line to the outlet, or untouched into `captured` if that is given.
  RankStream(Descriptor pipe, std::string prefix, Outlet& outlet, std::string* captured = nullptr);

  int descriptor() const { return pipe_.number(); }
  /// Whether poll() should watch it: there may be more, and there is room for it.
  bool wants_to_read() const { return pipe_.open() && (captured_ != nullptr || !outlet_.full()); }
  /// Reads once, without waiting. False when there was nothing to read.
  bool read_some();
  /// Reads all that is there now.
  void drain();
  /// A last line without an end is completed. For a rank that will write no more.
  void flush();

 private:
  Descriptor pipe_;
  Outlet& outlet_;
  std::string* captured_;
  LinePrefixer lines_;
};

}  // namespace syncopate::launch

// The lock on a run directory, in its file `lock`: while it lives, or a process that was started
// meanwhile, no other job trains there. Only those who may write in the directory can hold it, so
// that a reader cannot keep a run from going on.
#pragma once

#include <filesystem>

namespace syncopate::train {

class RunLock {
 public:
  /// Throws Error if another job trains in the directory, and names it.
  explicit RunLock(const std::filesystem::path& directory);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_;
};

}  // namespace syncopate::train

// Memory that the ranks of a test share with the test itself, be they threads, forked processes or
// those that mpirun started, and that outlives a rank which is killed.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>
#include <type_traits>

namespace syncopate::testing {

/// A name that all processes of this job know, set by the script that starts mpirun
/// (support/job.sh).
inline constexpr const char* kJobVariable = "SYNCOPATE_TEST_JOB";

/// The number of the next one of this process, whatever its type.
inline int& next_common() {
  static int next = 0;
  return next;
}

/// One zeroed `T`. Make it before the ranks start. Where mpirun started them, every process makes
/// the same ones in the same order, and lets go of them when every process has made them.
template <typename T>
class Common {
 public:
  Common() {
    int file = -1;
    int flags = MAP_SHARED | MAP_NORESERVE;
    if (const char* job = std::getenv(kJobVariable); job != nullptr) {
      name_ = std::string("/") + job + "." + std::to_string(next_common()++);
      file = shm_open(name_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
      if (file < 0 || ftruncate(file, sizeof(T)) != 0) throw std::bad_alloc();
    } else {
      flags |= MAP_ANONYMOUS;
    }
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, flags, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    value_ = static_cast<T*>(memory);
  }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  ~Common() {
    munmap(value_, sizeof(T));
    if (!name_.empty()) shm_unlink(name_.c_str());
  }

  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  std::string name_;
  T* value_;
};

}  // namespace syncopate::testing

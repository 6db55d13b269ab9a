// Memory that the ranks of a test share with the test itself, be they threads or forked
// processes, and that outlives a rank which is killed.
#pragma once

#include <sys/mman.h>

#include <new>
#include <type_traits>

namespace syncopate::testing {

/// One zeroed `T`. Make it before the ranks start.
template <typename T>
class Common {
 public:
  Common() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    value_ = static_cast<T*>(memory);
  }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  ~Common() { munmap(value_, sizeof(T)); }

  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  T* value_;
};

}  // namespace syncopate::testing

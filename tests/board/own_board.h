// For tests that build a board on memory of their own, and act between its steps.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "board/step.h"

namespace syncopate::board {

struct ReleaseMemory {
  void operator()(std::byte* memory) const { operator delete[](memory, std::align_val_t{128}); }
};
using Memory = std::unique_ptr<std::byte, ReleaseMemory>;
inline Memory zeroed(std::size_t bytes) {
  return Memory(new (std::align_val_t{128}) std::byte[bytes]());
}

/// While it lives, `action` is called before step `moment` of what runs (0, 1, 2 …), once; its own
/// steps do not count.
class Interruption {
 public:
  Interruption(int moment, std::function<void()> action)
      : left_(moment), action_(std::move(action)) {
    current = this;
    step_hook = [](Step) { current->step(); };
  }
  ~Interruption() { step_hook = nullptr; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool happened() const { return happened_; }

 private:
  void step() {
    if (left_-- > 0) return;
    step_hook = nullptr;
    action_();
    happened_ = true;
  }

  static inline Interruption* current = nullptr;
  int left_;
  std::function<void()> action_;
  bool happened_ = false;
};

}  // namespace syncopate::board

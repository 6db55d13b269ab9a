// Threads of control that are switched by hand, so that a test decides every interleaving. A
// switch costs a few nanoseconds: it makes no system call, unlike swapcontext.
#pragma once

#include <cstddef>

namespace syncopate::testing {

class Fiber {
 public:
  using Entry = void (*)(void*);

  /// The thread of control that runs already.
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares `entry(argument)` to run at the next switch to this fiber. `entry` must never
  /// return: at its end it switches away for good. The stack is kept from start to start.
  void start(Entry entry, void* argument);

  /// Goes on in `to`, and returns when another fiber switches back to `from`.
  static void change(Fiber& from, Fiber& to);

 private:
  static void begin();
  void entered();

  void* context_ = nullptr;  ///< Where to go on: a stack pointer, or a ucontext_t.
  std::byte* stack_ = nullptr;
  const void* bottom_ = nullptr;  ///< What a sanitizer must know of the stack.
  std::size_t size_ = 0;
  void* shadow_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace syncopate::testing

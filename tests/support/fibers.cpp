#include "support/fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackBytes = 1 << 20;
#else
constexpr std::size_t kStackBytes = 256 << 10;
#endif

// A new fiber begins without an argument: this says who it is.
Fiber* beginning = nullptr;
#if defined(__SANITIZE_ADDRESS__)
Fiber* leaving = nullptr;
#endif

}  // namespace

#if defined(__x86_64__)

// Saves what a call must preserve, exchanges the stack pointers, and restores the other's.
extern "C" void syncopate_testing_switch(void** save_to, void* load_from);
asm(R"(
.text
.type syncopate_testing_switch, @function
.globl syncopate_testing_switch
syncopate_testing_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size syncopate_testing_switch, . - syncopate_testing_switch
)");

#endif

Fiber::~Fiber() {
  if (stack_ != nullptr) munmap(stack_, kStackBytes);
#if !defined(__x86_64__)
  delete static_cast<ucontext_t*>(context_);
#endif
}

void Fiber::start(Entry entry, void* argument) {
  if (stack_ == nullptr) {
    void* memory =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<std::byte*>(memory);
    mprotect(stack_, static_cast<std::size_t>(getpagesize()), PROT_NONE);  // Overflow is a fault.
    bottom_ = stack_;
    size_ = kStackBytes;
  }
#if defined(__SANITIZE_ADDRESS__)
  // The frames of the run before are gone; what was noted about them must go too.
  const auto page = static_cast<std::size_t>(getpagesize());
  __asan_unpoison_memory_region(stack_ + page, kStackBytes - page);
  shadow_ = nullptr;
#endif
  entry_ = entry;
  argument_ = argument;
#if defined(__x86_64__)
  // Six registers, the address to return to, and a word in the place of a caller's address, so
  // that the stack is aligned as after a call.
  auto** top = reinterpret_cast<void**>(stack_ + kStackBytes) - 8;
  for (int i = 0; i < 8; ++i) top[i] = nullptr;
  top[6] = reinterpret_cast<void*>(&Fiber::begin);
  context_ = top;
#else
  if (context_ == nullptr) context_ = new ucontext_t;
  auto* context = static_cast<ucontext_t*>(context_);
  getcontext(context);
  context->uc_stack.ss_sp = stack_;
  context->uc_stack.ss_size = kStackBytes;
  context->uc_link = nullptr;
  makecontext(context, &Fiber::begin, 0);
#endif
}

void Fiber::begin() {
  Fiber& self = *beginning;
  self.entered();
  self.entry_(self.argument_);
  std::abort();
}

void Fiber::entered() {
#if defined(__SANITIZE_ADDRESS__)
  // The first switch away from the main stack is where its bounds become known.
  __sanitizer_finish_switch_fiber(shadow_, &leaving->bottom_, &leaving->size_);
#endif
}

void Fiber::change(Fiber& from, Fiber& to) {
  beginning = &to;
#if defined(__SANITIZE_ADDRESS__)
  leaving = &from;
  __sanitizer_start_switch_fiber(&from.shadow_, to.bottom_, to.size_);
#endif
#if defined(__x86_64__)
  syncopate_testing_switch(&from.context_, to.context_);
#else
  if (from.context_ == nullptr) from.context_ = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(from.context_), static_cast<ucontext_t*>(to.context_));
#endif
  from.entered();
}

}  // namespace syncopate::testing

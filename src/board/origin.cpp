#include "board/origin.h"

#include <pthread.h>
#include <sys/mman.h>

#include <new>

namespace syncopate::board {
namespace {

/// Where the kernel does not clear memory for a fork (before Linux 4.14, in some sandboxes), fork()
/// itself does it. What goes around fork(), as clone() may, is not seen then.
std::atomic<std::uint64_t> plain_word{0};

void clear_plain_word() { plain_word.store(0, std::memory_order_relaxed); }

std::atomic<std::uint64_t>* make_word() {
  constexpr std::size_t kBytes = sizeof(std::atomic<std::uint64_t>);
  void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    if (madvise(page, kBytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<std::uint64_t>;
    munmap(page, kBytes);
  }
  pthread_atfork(nullptr, nullptr, clear_plain_word);
  return &plain_word;
}

}  // namespace

Origin::Word& Origin::word() {
  static Word* const made = make_word();
  return *made;
}

std::uint64_t Origin::stamp() {
  // Copied by a fork, so that no stamp of the child is one that it has inherited.
  static Word last{0};
  std::uint64_t stamp = word().load(std::memory_order_relaxed);
  if (stamp != 0) return stamp;
  const std::uint64_t fresh = last.fetch_add(1) + 1;
  return word().compare_exchange_strong(stamp, fresh) ? fresh : stamp;
}

}  // namespace syncopate::board

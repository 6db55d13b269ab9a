#include "fabric/mpi/watchdog.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace syncopate::fabric::mpi {

Watchdog::Watchdog(std::chrono::nanoseconds time, std::string words) {
  // The program's signals are for its own threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    thread_ = std::thread([this, time, words = std::move(words)] {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, time, [this] { return over_; })) return;
      (void)!::write(STDERR_FILENO, words.data(), words.size());
      ::_exit(EXIT_FAILURE);
    });
  } catch (const std::system_error&) {
    // Without a thread there is no watch, as in a program that starts MPI itself.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace syncopate::fabric::mpi

// Ends the process if something that nothing can interrupt does not come back in time: MPI_Init,
// which waits for all ranks, also for one that has died. It is the only place that ends a process
// and prints: the thread that waits cannot be reached by an exception.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace syncopate::fabric::mpi {

class Watchdog {
 public:
  /// `words` are printed if this is still there after the time.
  Watchdog(std::chrono::nanoseconds time, std::string words);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace syncopate::fabric::mpi

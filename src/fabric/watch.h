// Sleeps, on a thread of its own, until a fabric has something to do, where the fabric has a
// descriptor that says so. It looks only while it is told to: as long as another thread looks
// itself, nothing is woken for it.
#pragma once

#include <functional>
#include <thread>

#include "base/descriptor.h"

namespace syncopate::fabric {

class Watch {
 public:
  /// `woken` is called on the thread of this watch. The descriptor may be closed before the watch
  /// goes; then nothing wakes it anymore.
  Watch(int descriptor, std::function<void()> woken);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Calls `woken` once when there is something to do, or at once if there is already. May be
  /// called from any thread, as long as the descriptor is open.
  void arm();

 private:
  void watch();

  const int descriptor_;
  const std::function<void()> woken_;
  const base::Descriptor events_;
  const base::Descriptor end_;  ///< Readable once the thread is to end.
  std::thread thread_;
};

}  // namespace syncopate::fabric

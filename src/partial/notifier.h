// Tells those who may have waited for it that a rank has changed what the rounds depend on: the
// ranks that sleep, and the machine's agent where there is one.
#pragma once

#include "board/event.h"
#include "board/wait.h"

namespace syncopate::partial {

class Notifier {
 public:
  /// `agent` is null where ranks run the rounds themselves.
  Notifier(board::Event& event, board::Platform& platform, board::Attendant* agent)
      : event_(event), platform_(platform), agent_(agent) {}

  void tell() const {
    event_.signal(platform_);
    if (agent_ != nullptr) agent_->call();
  }

 private:
  board::Event& event_;
  board::Platform& platform_;
  board::Attendant* agent_;
};

}  // namespace syncopate::partial

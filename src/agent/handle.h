// A rank's way to the agent of its machine, where there are several machines. Without an agent
// nothing happens. Copied freely: what stands behind it belongs to the world (rank_mailbox.h).
#pragma once

#include <string>

#include "agent/mailbox.h"
#include "agent/rank_mailbox.h"
#include "agent/thread.h"
#include "base/text.h"
#include "board/event.h"
#include "board/roster.h"
#include "syncopate/rank_set.h"

namespace syncopate::agent {

class AgentHandle {
 public:
  /// There is no agent.
  AgentHandle() = default;
  explicit AgentHandle(RankMailbox& mailbox) : mailbox_(&mailbox) {}
  explicit operator bool() const { return mailbox_ != nullptr; }
  /// For board::Wait.
  operator board::Attendant*() const { return mailbox_; }

  /// There is something for the agent to look at.
  void call() {
    if (mailbox_ != nullptr) mailbox_->call();
  }
  /// The same where the rank waits next: an agent of this process need not be woken for it.
  void notify_unless_driving() {
    if (mailbox_ != nullptr) mailbox_->notify_unless_driving();
  }
  /// Throws if the agent has failed, or is dead.
  void check() const {
    if (mailbox_ != nullptr) mailbox_->check();
  }
  /// "rank 3", "ranks 1 and 3": for whom all wait but the rank that asks, as far as is
  /// known. Not without an agent.
  std::string awaited(const board::Roster& /*roster*/) const { return mailbox_->awaited(); }
  /// On all machines.
  RankSet dead(const board::Roster& roster) const {
    return mailbox_ != nullptr ? mailbox_->dead() : roster.dead();
  }

 private:
  RankMailbox* mailbox_ = nullptr;
};

}  // namespace syncopate::agent

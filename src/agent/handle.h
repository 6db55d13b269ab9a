// A rank's way to the agent of its machine, where there are several machines.
#pragma once

#include <string>

#include "agent/mailbox.h"
#include "agent/thread.h"
#include "base/text.h"
#include "board/event.h"
#include "board/roster.h"

namespace syncopate::detail {

class AgentHandle {
 public:
  /// There is no agent.
  AgentHandle() = default;
  /// `agent` is null unless it is in this process.
  AgentHandle(AgentMailbox& mailbox, AgentThread* agent) : mailbox_(&mailbox), agent_(agent) {}
  explicit operator bool() const { return mailbox_ != nullptr; }

  /// There is something for the agent to look at. (Without an agent nothing happens.)
  void call() {
    if (mailbox_ != nullptr) mailbox_->call();
  }
  /// The same where attend() comes next: an agent of this process need not be woken for it.
  void notify_unless_driving() {
    if (agent_ == nullptr) call();
  }
  /// Does the agent's work while its rank waits for news, if the agent is in this process.
  void attend(const board::Event& event, std::uint64_t seen, board::Time until) {
    if (agent_ != nullptr) agent_->drive(event, seen, until);
  }

  /// Throws if the agent has failed, or is dead.
  void check() const {
    if (mailbox_ != nullptr) mailbox_->check();
  }
  /// "rank 3", "ranks 1 and 3": for whom everybody waits but the rank that asks, as far as is
  /// known.
  std::string awaited(const board::Roster& roster) const {
    RankSet ranks = mailbox_->awaited();
    ranks.erase(roster.rank());
    if (ranks.empty()) return "other machines";
    return names_of(ranks);
  }
  /// On all machines.
  RankSet dead(const board::Roster& roster) const {
    return mailbox_ != nullptr ? mailbox_->dead() : roster.dead();
  }

 private:
  AgentMailbox* mailbox_ = nullptr;
  AgentThread* agent_ = nullptr;
};

}  // namespace syncopate::detail

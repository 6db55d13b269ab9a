// A rank's side of what it and the agent of its machine tell each other (desk.h). It also knows
// whether the agent is in this process, where the rank does the agent's work while it waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/desk.h"
#include "board/event.h"
#include "board/roster.h"
#include "board/wait.h"
#include "syncopate/error.h"
#include "syncopate/rank_set.h"

namespace syncopate::agent {

class AgentDriver;

class RankMailbox final : public board::Attendant {
 public:
  RankMailbox(std::byte* memory, const board::Roster& roster, board::Platform& platform)
      : desk_(*reinterpret_cast<AgentDesk*>(memory)), roster_(roster), platform_(platform) {}
  /// The agent is in this process, driven by this one. Null: not any longer.
  void set_driver(AgentDriver* driver) { driver_ = driver; }

  void call() override { desk_.calls.signal(platform_); }
  /// The same where attend() comes next: an agent of this process need not be woken for it.
  void notify_unless_driving() {
    if (driver_ == nullptr) call();
  }
  void attend(const board::Event& event, std::uint64_t seen, board::Time until) override;

  // What all machines have agreed on.
  board::Event& agreements() { return desk_.agreements; }
  std::uint64_t agreed() const { return desk_.agreements.number(); }
  /// Where ranks differ about that agreement; else null.
  const Dispute* dispute(std::uint64_t number) const {
    return desk_.disputed.load() == number ? &desk_.dispute : nullptr;
  }

  /// On all machines.
  RankSet dead() const { return dead_on_all_machines(desk_, roster_); }
  /// "rank 3", "ranks 1 and 3": for whom all wait but this rank, as far as is known.
  std::string awaited() const;

  /// This rank, in this process, cannot go on: what it calls next throws this.
  void close(const Error& reason) { closed_ = reason; }
  /// Throws if the agent has failed, or is dead, or after close().
  void check() const override;
  /// Whether this rank has been told so: it goes on without an agent.
  bool lost() const { return desk_.failed.load() != 0 || missed_; }

 private:
  AgentDesk& desk_;
  const board::Roster& roster_;
  board::Platform& platform_;
  AgentDriver* driver_ = nullptr;
  std::optional<Error> closed_;
  mutable bool missed_ = false;  ///< The agent was found to be gone.
};

}  // namespace syncopate::agent

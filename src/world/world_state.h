// What stands behind a World: the segment, this rank's seat, the machine's agent where there are
// several machines, and the making of collectives.
#pragma once

#include <memory>
#include <string>

#include "agent/control_memory.h"
#include "agent/driver.h"
#include "agent/handle.h"
#include "agent/rank_mailbox.h"
#include "board/platform.h"
#include "board/region.h"
#include "board/roster.h"
#include "board/segment.h"
#include "fabric/fabric.h"
#include "syncopate/policy.h"
#include "world/agreements.h"
#include "world/collective_spec.h"

namespace syncopate::detail {

class PartialExchange;

class WorldState {
 public:
  /// `rank` is counted within the machine.
  WorldState(std::shared_ptr<board::Segment> segment, int rank,
             std::unique_ptr<board::Platform> platform);
  WorldState(const WorldState&) = delete;
  WorldState& operator=(const WorldState&) = delete;
  ~WorldState();

  /// Makes this machine speak to the others, if there are any. All ranks call it; the first of a
  /// machine has the agent, which `make_driver` lets work: on a thread (AgentThread::maker) or
  /// otherwise. It takes the link over unless it throws.
  void connect(std::unique_ptr<fabric::Link>& link, const agent::MakeAgentDriver& make_driver);

  board::Roster& roster() { return roster_; }
  board::Platform& platform() { return *platform_; }
  const Duration& timeout() const { return timeout_; }
  void set_timeout(Duration timeout);

  /// Agrees with all ranks on the next collective and returns memory for it. `description` says
  /// all that must be the same on every rank; where it differs, every rank gets Error(mismatch).
  /// `order` is for the agents.
  std::shared_ptr<board::Region> make_region(const std::string& description,
                                             const world::CollectiveSpec& spec, std::size_t bytes,
                                             std::size_t smallest_bytes);

  /// How many ranks the machine with the most of them has.
  int largest_machine() const;
  int machine() const { return link_ == nullptr ? 0 : link_->topology().machine; }
  int machines() const { return link_ == nullptr ? 1 : link_->topology().machines(); }
  /// To the agent of this machine, if there are several.
  agent::AgentHandle agent_handle();
  /// On all machines.
  RankSet dead();

  void barrier();
  void broadcast(void* data, std::size_t bytes, int root);

 private:
  /// The program ends the fabric. This rank leaves while it still can.
  void leave_before_end();
  PartialExchange& messenger();

  std::shared_ptr<board::Segment> segment_;
  agent::ControlMemory control_;
  std::unique_ptr<board::Platform> platform_;
  board::Roster roster_;
  Duration timeout_;
  world::Agreements agreements_;
  board::RegionPlan regions_;
  std::unique_ptr<fabric::Link> link_;
  std::unique_ptr<agent::RankMailbox> mailbox_;
  std::unique_ptr<agent::AgentDriver> agent_;
  std::shared_ptr<board::Region> messenger_region_;
  std::unique_ptr<PartialExchange> messenger_;  ///< Carries broadcasts.
  bool broadcasting_ = false;                   ///< Stays set if a broadcast ends in a timeout.
};

/// What a collective keeps alive while it is used.
struct Kept {
  Kept(std::shared_ptr<WorldState> kept_world, std::shared_ptr<board::Region> kept_region)
      : world(std::move(kept_world)), region(std::move(kept_region)) {}
  std::shared_ptr<WorldState> world;
  std::shared_ptr<board::Region> region;  ///< Goes first: it asks the world's roster who is left.
};

}  // namespace syncopate::detail

// How an agent sends messages to those of other machines: packs them, says in each whether this
// machine sleeps whenever it can, and rings where a message may find an agent that sleeps.
#pragma once

#include <vector>

#include "agent/messages.h"
#include "agent/peer_activity.h"
#include "agent/polling.h"
#include "board/platform.h"
#include "board/roster.h"
#include "fabric/bell.h"
#include "fabric/fabric.h"

namespace syncopate::agent {

class Post {
 public:
  /// All that it is given outlives it. What goes out is noted in `peers`.
  Post(fabric::Fabric& fabric, const fabric::Topology& topology, fabric::Bell& bell,
       PeerActivity& peers, const board::Roster& roster, board::Platform& platform)
      : fabric_(fabric),
        topology_(topology),
        bell_(bell),
        peers_(peers),
        roster_(roster),
        platform_(platform),
        told_bell_(topology.machines()) {}

  void send(int machine, const AgentMessage& message);
  void send_to_others(const AgentMessage& message);
  /// Data are on their way to a machine where a rank waits for them.
  void rouse(int machine);
  /// Says where this machine's bell is, once.
  void tell_bell(int machine);

 private:
  /// A message to a machine, as bytes.
  std::vector<std::byte> say(int machine, AgentMessage message);

  fabric::Fabric& fabric_;
  const fabric::Topology& topology_;
  fabric::Bell& bell_;
  PeerActivity& peers_;
  const board::Roster& roster_;
  board::Platform& platform_;
  std::vector<bool> told_bell_;  ///< Machines that know where this one's bell is.
};

}  // namespace syncopate::agent

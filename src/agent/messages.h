// The messages between agents, as bytes: packed and unpacked here. What a message may hold by
// itself is checked as it is unpacked, with BadMessage for what it may not. A change of anything
// here raises fabric::kProtocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.h"

namespace syncopate::agent {

/// What an agent says to another one.
struct AgentMessage {
  enum class Kind : std::uint8_t {
    task,     // for one of the tasks
    ping,     // sent at `asked`, by the sender's clock: to be passed on, and answered …
    pong,     // … by this, sent at `told`, by the sender's
    dead,     // a rank of the sender's machine
    failure,  // the sender cannot go on
    bell,     // where the sender's rings
    way,      // by which the receiver has rung at the sender's
  };
  Kind kind = Kind::ping;
  bool drowsy = false;              ///< The sender sleeps whenever it can.
  std::uint64_t task = 0;           ///< With `task`: its number.
  int number = 0;                   ///< With `dead` the rank in the world, with `way` the way,
                                    ///< with `ping` how often it is to be passed on.
  std::int64_t asked = 0;           ///< With `ping`, and with its `pong`.
  std::int64_t told = 0;            ///< With `pong`.
  std::span<const std::byte> rest;  ///< With `task`, `failure` and `bell`: what it is all about.
};

std::vector<std::byte> pack(const AgentMessage& message);
/// The result points into `bytes`.
AgentMessage unpack_agent_message(std::span<const std::byte> bytes, int from,
                                  const fabric::Topology& topology);

}  // namespace syncopate::agent

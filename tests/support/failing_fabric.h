// A fabric that fails when a test says so, as MPI does when a connection breaks: the call that an
// agent makes then throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "fabric/fabric.h"

namespace syncopate::testing {

/// What an agent asks of its fabric.
enum class FabricCall : std::uint8_t {
  message,  // to send one to another agent
  look,     // whether a message has come
  open,     // a channel
  gather,   // lines of all machines
  reduce,   // values of all machines
  send,     // values to one machine
  receive,  // values of one machine
  done,     // whether any of the last five is
};

/// What befalls the fabric of one machine. Shared by the test and the agent's thread.
struct FabricFailure {
  static constexpr const char* kWords = "MPI_Iallreduce failed: the cable was cut";

  FabricCall at = FabricCall::look;
  /// Whether every later call fails too, so that the agent cannot even tell the others.
  bool for_good = false;
  std::atomic<bool> due = false;
  std::atomic<bool> happened = false;
};

/// `fabric`, which fails at the first such call once the failure is due.
std::unique_ptr<fabric::Fabric> failing(std::unique_ptr<fabric::Fabric> fabric,
                                        FabricFailure& failure);

}  // namespace syncopate::testing

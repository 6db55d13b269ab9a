// Where boards meet: messages and reductions between the machines of one world. A fabric knows
// nothing of rounds. One thread per machine, the agent, uses it; nothing here blocks once the
// world stands, and what was begun moves on only while a thread asks whether something is done.
//
// The one over TCP is built in (src/fabric/tcp). MPI's is in a plug-in of its own for each MPI
// (src/fabric/mpi), loaded when it is needed (src/fabric/plugin.h), so this header is all that the
// two sides share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "syncopate/types.h"

namespace syncopate::fabric {

/// Something under way. It must be done before it goes, and so must the memory it uses.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Moves it on; true from the moment it is complete.
  virtual bool done() = 0;
};

/// What becomes of the values of two machines that meet.
enum class Combine : std::uint8_t {
  sum,
  bits,  ///< Bitwise or: exact whatever the bytes mean.
};

/// A place for the operations of one collective. Every machine begins the same gatherings and
/// reductions on it in the same order. Operations on different channels do not wait for each other.
class Channel {
 public:
  virtual ~Channel() = default;

  /// `all` gets `bytes` bytes of every machine, in the order of machines.
  virtual std::unique_ptr<Operation> gather(const void* mine, std::size_t bytes, void* all) = 0;
  /// `result` gets the same bits on every machine. It may be `mine`, if it is on all of them. Not
  /// for types of sixteen bits, which would have to be rounded wherever two machines meet.
  virtual std::unique_ptr<Operation> reduce(const void* mine, void* result, std::size_t elements,
                                            DataType type, Combine combine) = 0;

  /// Sends values to one machine, or receives what it sends here with the same tag (0 to 32,767).
  /// Between two machines values with one tag arrive in the order they were sent.
  virtual std::unique_ptr<Operation> send(int machine, int tag, const void* values,
                                          std::size_t bytes) = 0;
  virtual std::unique_ptr<Operation> receive(int machine, int tag, void* values,
                                             std::size_t bytes) = 0;
};

/// What the agent of a machine uses.
class Fabric {
 public:
  virtual ~Fabric() = default;

  /// Sends a message to the agent of another machine. From one machine to another messages arrive
  /// once and in order; between different pairs there is no order. Does not wait.
  virtual void send(int machine, std::span<const std::byte> message) = 0;
  /// Takes a message that has come and says from which machine; -1 if there is none.
  virtual int receive(std::vector<std::byte>& message) = 0;
  static constexpr std::size_t kLongestMessage = 64 << 10;

  /// Begins to open a channel; `into` is set once the operation is done. Every machine opens its
  /// channels in the same order.
  virtual std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) = 0;

  /// Readable (poll) while there may be something to do, until the fabric or an operation is asked.
  /// It is good as long as the fabric. -1: no thread can sleep until then, and it has to be asked
  /// now and then.
  virtual int descriptor() const { return -1; }
};

/// The machines of a world, and which of them each rank is on, as one rank sees it.
struct Topology {
  int rank = 0;
  int machine = 0;
  std::vector<int> machine_of;         ///< Of every rank; machines are numbered 0, 1, 2 …
  std::vector<std::string> addresses;  ///< What a person would call each machine: its host's name.
  /// The IPv4 addresses of each machine's host, in network order; empty if they are not known.
  std::vector<std::vector<std::uint32_t>> networks;

  int ranks() const { return static_cast<int>(machine_of.size()); }
  int machines() const { return static_cast<int>(addresses.size()); }
};

/// How one process takes part. Used by the thread that makes the world, before any agent runs.
class Link {
 public:
  virtual ~Link() = default;

  virtual const Topology& topology() const = 0;
  /// Gives every rank of this machine the text of its first one. All of them call it.
  virtual std::string from_first(const std::string& text) = 0;
  /// The fabric, for the agent. All ranks call it; those that are not the first of their machine
  /// get null.
  virtual std::unique_ptr<Fabric> fabric() = 0;
  /// The world stands: what was needed only to make it may go.
  virtual void note_made() {}
  /// A rank or a machine of this world is lost: when the process exits, it is not waited for.
  virtual void note_loss() {}
  /// What to do if the program ends the fabric before the link goes, as long as it still works.
  /// Called on the program's thread. Where only we can end it, never.
  virtual void set_before_end(const std::function<void()>& /*act*/) {}
};

}  // namespace syncopate::fabric

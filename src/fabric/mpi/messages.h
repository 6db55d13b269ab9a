// The small messages between agents: sent from copies that are kept until they are gone, received
// into buffers that wait for them. One request is tested when nothing has come.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/communicator.h"

namespace syncopate::fabric::mpi {

class Messages {
 public:
  Messages(Communicator& agents, std::chrono::nanoseconds timeout);
  ~Messages();  ///< Waits for the other machines to go as well, but not for long.
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void send(int machine, std::span<const std::byte> message);
  int receive(std::vector<std::byte>& message);

 private:
  /// How many messages may come between two looks before MPI has to keep them itself.
  static constexpr std::size_t kBuffers = 4;
  static constexpr int kTag = 0;
  static constexpr std::chrono::seconds kPatience{5};

  struct Incoming {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Outgoing {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void expect(Incoming& buffer);
  void release_sent();
  bool close();
  void abandon();

  Communicator communicator_;
  std::array<Incoming, kBuffers> incoming_;
  std::size_t next_ = 0;  ///< The buffer that the next message goes to.
  std::vector<Outgoing> outgoing_;
};

}  // namespace syncopate::fabric::mpi

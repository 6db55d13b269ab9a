// A channel is a communicator of its own among the agents, so that what is under way on one never
// matches what is under way on another.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/pooled_communicator.h"

namespace syncopate::fabric::mpi {

/// More bytes than this travel in several pieces: MPI counts in int, and so do some algorithms
/// inside. SYNCOPATE_PIECE makes it smaller, the same on every machine, so that tests see several.
inline constexpr std::size_t kLongestPiece = 1 << 30;
inline constexpr const char* kPieceVariable = "SYNCOPATE_PIECE";

class MpiChannel : public Channel {
 public:
  /// The communicator is the fabric's, too: its communicator is freed when all are gone that use
  /// it.
  MpiChannel(std::shared_ptr<PooledCommunicator> pooled, std::size_t longest_piece);
  ~MpiChannel() override;
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;

  std::unique_ptr<Operation> gather(const void* mine, std::size_t bytes, void* all) override;
  std::unique_ptr<Operation> reduce(const void* mine, void* result, std::size_t elements,
                                    DataType type, Combine combine) override;
  std::unique_ptr<Operation> send(int machine, int tag, const void* values,
                                  std::size_t bytes) override;
  std::unique_ptr<Operation> receive(int machine, int tag, void* values,
                                     std::size_t bytes) override;

 private:
  std::shared_ptr<PooledCommunicator> pooled_;
  std::size_t longest_piece_;
};

/// From the environment.
std::size_t longest_piece();

}  // namespace syncopate::fabric::mpi

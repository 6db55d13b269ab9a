#include "fabric/mpi/messages.h"

#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace syncopate::fabric::mpi {
namespace {

bool complete(MPI_Request& request) {
  int flag = 0;
  check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

}  // namespace

Messages::Messages(Communicator& agents, std::chrono::nanoseconds timeout)
    : communicator_(agents.duplicate(timeout)) {
  for (Incoming& buffer : incoming_) {
    buffer.bytes.resize(Fabric::kLongestMessage);
    expect(buffer);
  }
}

void Messages::expect(Incoming& buffer) {
  check(MPI_Irecv(buffer.bytes.data(), static_cast<int>(buffer.bytes.size()), MPI_BYTE,
                  MPI_ANY_SOURCE, kTag, communicator_.handle(), &buffer.request),
        "MPI_Irecv");
}

void Messages::send(int machine, std::span<const std::byte> message) {
  if (message.size() > Fabric::kLongestMessage) {
    fail("a message of " + std::to_string(message.size()) + " bytes is too long for the fabric",
         "This is a mistake in Syncopate");
  }
  release_sent();
  Outgoing& copy = outgoing_.emplace_back();
  copy.bytes.assign(message.begin(), message.end());
  check(MPI_Isend(copy.bytes.data(), static_cast<int>(copy.bytes.size()), MPI_BYTE, machine, kTag,
                  communicator_.handle(), &copy.request),
        "MPI_Isend");
}

void Messages::release_sent() {
  std::erase_if(outgoing_, [](Outgoing& copy) { return complete(copy.request); });
}

// Buffers are filled in the order they were handed to MPI, though a long message may be complete
// after a short one that came later: so only the oldest is looked at, and the order is kept.
int Messages::receive(std::vector<std::byte>& message) {
  if (!outgoing_.empty()) release_sent();
  Incoming& buffer = incoming_[next_];
  MPI_Status status;
  int flag = 0;
  check(MPI_Test(&buffer.request, &flag, &status), "MPI_Test");
  if (flag == 0) return -1;
  int bytes = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  message.assign(buffer.bytes.begin(), buffer.bytes.begin() + bytes);
  expect(buffer);
  next_ = (next_ + 1) % kBuffers;
  return status.MPI_SOURCE;
}

// A message is on its way for certain only while its sender calls MPI. So no machine stops before
// all have come to this point, unless one does not come at all.
bool Messages::close() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  MPI_Request barrier = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(communicator_.handle(), &barrier), "MPI_Ibarrier");
  std::vector<std::byte> ignored;
  bool all_here = false;
  while (true) {
    if (!all_here) all_here = complete(barrier);
    const bool nothing_came = receive(ignored) == -1;
    if (all_here && outgoing_.empty() && nothing_came) break;
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (nothing_came) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  for (Incoming& buffer : incoming_) check(MPI_Cancel(&buffer.request), "MPI_Cancel");
  for (Incoming& buffer : incoming_) {
    while (!complete(buffer.request)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
  }
  return true;
}

/// MPI may still write into the buffers or read from them: they stay for ever.
void Messages::abandon() {
  struct Remains {
    std::array<Incoming, kBuffers> incoming;
    std::vector<Outgoing> outgoing;
  };
  static std::mutex mutex;
  static auto* const all = new std::vector<Remains>;
  const std::lock_guard lock(mutex);
  all->push_back({std::move(incoming_), std::move(outgoing_)});
  communicator_.abandon();
}

Messages::~Messages() {
  bool closed = false;
  try {
    closed = running() && close();
  } catch (const std::exception&) {
    // A destructor has no caller to tell; what MPI holds is left to it.
  }
  if (!closed) abandon();
}

}  // namespace syncopate::fabric::mpi

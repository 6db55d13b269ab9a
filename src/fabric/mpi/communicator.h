// A communicator of our own, with errors returned. Freed when it goes, unless MPI is gone already.
//
// MPI_Comm_free is collective, and may be called on one machine long before another. The standard
// expects it to be local nonetheless, and it is in Open MPI and in MPICH.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <utility>

#include "fabric/mpi/await.h"
#include "fabric/mpi/check.h"
#include "fabric/mpi/session.h"

namespace syncopate::fabric::mpi {

class Communicator {
 public:
  Communicator() = default;
  /// Takes it over. It may be MPI_COMM_NULL.
  explicit Communicator(MPI_Comm handle) : handle_(handle) {
    if (handle != MPI_COMM_NULL) {
      check(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
  }
  Communicator(Communicator&& other) noexcept
      : handle_(std::exchange(other.handle_, MPI_COMM_NULL)), abandoned_(other.abandoned_) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(abandoned_, other.abandoned_);
    return *this;
  }
  ~Communicator() {
    if (handle_ != MPI_COMM_NULL && !abandoned_ && running()) MPI_Comm_free(&handle_);
  }

  MPI_Comm handle() const { return handle_; }
  /// It will not be freed: something is under way there that no thread waits for.
  void abandon() { abandoned_ = true; }

  int size() const {
    int size = 0;
    check(MPI_Comm_size(handle_, &size), "MPI_Comm_size");
    return size;
  }
  int rank() const {
    int rank = 0;
    check(MPI_Comm_rank(handle_, &rank), "MPI_Comm_rank");
    return rank;
  }
  /// Throws if the others do not do the same within the time.
  Communicator duplicate(std::chrono::nanoseconds timeout) {
    abandoned_ = true;
    Communicator copy = copy_of(handle_, timeout);
    abandoned_ = false;
    return copy;
  }
  /// The same of one that is not ours.
  static Communicator copy_of(MPI_Comm handle, std::chrono::nanoseconds timeout) {
    auto copy = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Comm_idup(handle, copy.get(), &request), "MPI_Comm_idup");
    copy = await(request, std::move(copy), timeout);
    return Communicator(*copy);
  }
  /// Waits until all are here; throws if that takes longer than the time.
  void meet(std::chrono::nanoseconds timeout) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(handle_, &request), "MPI_Ibarrier");
    abandoned_ = true;
    await(request, std::make_unique<char>(), timeout);
    abandoned_ = false;
  }
  /// Those who give the same color, in the order they have here.
  Communicator split(int color) const {
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(handle_, color, rank(), &part), "MPI_Comm_split");
    return Communicator(part);
  }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
  bool abandoned_ = false;
};

}  // namespace syncopate::fabric::mpi

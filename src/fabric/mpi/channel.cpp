#include "fabric/mpi/channel.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fabric/mpi/operation.h"

namespace syncopate::fabric::mpi {
namespace {

/// Requests of MPI that are complete together. What is not done when this goes is neither freed nor
/// cancelled, as MPI allows neither for a collective; its communicator is then not used again.
class Requests : public Operation {
 public:
  explicit Requests(std::shared_ptr<PooledCommunicator> pooled) : pooled_(std::move(pooled)) {
    ++pooled_->under_way;
  }
  ~Requests() override {
    if (done_ || requests_.empty()) {
      finish();
    } else {
      pooled_->communicator.abandon();
    }
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// A place for one more.
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  MPI_Comm communicator() const { return pooled_->communicator.handle(); }

  bool done() override {
    if (done_) return true;
    int complete = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &complete,
                      MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (complete != 0) finish();
    return done_;
  }

 private:
  void finish() {
    if (!done_) --pooled_->under_way;
    done_ = true;
  }

  std::shared_ptr<PooledCommunicator> pooled_;
  std::vector<MPI_Request> requests_;
  bool done_ = false;
};

const std::byte* at(const void* memory, std::size_t offset) {
  return static_cast<const std::byte*>(memory) + offset;
}
std::byte* at(void* memory, std::size_t offset) { return static_cast<std::byte*>(memory) + offset; }

/// A piece of what one machine gathers, with the distance between machines as its extent: it lands
/// where the whole would have it.
MPI_Datatype spaced(std::size_t piece, std::size_t distance) {
  MPI_Datatype bytes = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &bytes), "MPI_Type_contiguous");
  check(MPI_Type_create_resized(bytes, 0, static_cast<MPI_Aint>(distance), &type),
        "MPI_Type_create_resized");
  check(MPI_Type_free(&bytes), "MPI_Type_free");
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

}  // namespace

std::size_t longest_piece() {
  const char* text = std::getenv(kPieceVariable);
  if (text == nullptr) return kLongestPiece;
  const auto bytes = base::number<std::size_t>(text, 8, kLongestPiece);
  if (!bytes) {
    fail(
        std::string(kPieceVariable) + " is \"" + text + "\"",
        "Set it to a number of bytes from 8 to " + std::to_string(kLongestPiece) + ", or unset it");
  }
  return *bytes;
}

MpiChannel::MpiChannel(std::shared_ptr<PooledCommunicator> pooled, std::size_t longest_piece)
    : pooled_(std::move(pooled)), longest_piece_(longest_piece) {
  pooled_->has_channel = true;
}

MpiChannel::~MpiChannel() { pooled_->has_channel = false; }

std::unique_ptr<Operation> MpiChannel::gather(const void* mine, std::size_t bytes, void* all) {
  auto operation = std::make_unique<Requests>(pooled_);
  if (bytes <= longest_piece_) {
    const int count = static_cast<int>(bytes);
    check(MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, operation->communicator(),
                         operation->add()),
          "MPI_Iallgather");
    return operation;
  }
  for (std::size_t begin = 0; begin < bytes; begin += longest_piece_) {
    const std::size_t piece = std::min(longest_piece_, bytes - begin);
    MPI_Datatype type = spaced(piece, bytes);
    check(MPI_Iallgather(at(mine, begin), static_cast<int>(piece), MPI_BYTE, at(all, begin), 1,
                         type, operation->communicator(), operation->add()),
          "MPI_Iallgather");
    check(MPI_Type_free(&type), "MPI_Type_free");  // MPI keeps it for as long as it needs it.
  }
  return operation;
}

// MPI promises equal bits everywhere as good practice only; both of ours keep to it, as every
// machine adds in the same tree. One thing is left: which payload survives when two NaNs meet.
std::unique_ptr<Operation> MpiChannel::reduce(const void* mine, void* result, std::size_t elements,
                                              DataType type, Combine combine) {
  const MpiOperation reduction = reduction_of(type, combine);
  auto operation = std::make_unique<Requests>(pooled_);
  const std::size_t longest = longest_piece_ / reduction.element_bytes;
  for (std::size_t begin = 0; begin < elements; begin += longest) {
    const std::size_t offset = begin * reduction.element_bytes;
    const int count = static_cast<int>(std::min(longest, elements - begin));
    check(MPI_Iallreduce(mine == result ? MPI_IN_PLACE : at(mine, offset), at(result, offset),
                         count, reduction.type, reduction.operation, operation->communicator(),
                         operation->add()),
          "MPI_Iallreduce");
  }
  return operation;
}

std::unique_ptr<Operation> MpiChannel::send(int machine, int tag, const void* values,
                                            std::size_t bytes) {
  auto operation = std::make_unique<Requests>(pooled_);
  ++pooled_->unmatched;
  std::size_t begin = 0;
  do {  // Nothing is sent as an empty message, for which the other waits.
    const std::size_t piece = std::min(longest_piece_, bytes - begin);
    check(MPI_Isend(at(values, begin), static_cast<int>(piece), MPI_BYTE, machine, tag,
                    operation->communicator(), operation->add()),
          "MPI_Isend");
    begin += piece;
  } while (begin < bytes);
  return operation;
}

std::unique_ptr<Operation> MpiChannel::receive(int machine, int tag, void* values,
                                               std::size_t bytes) {
  auto operation = std::make_unique<Requests>(pooled_);
  --pooled_->unmatched;
  std::size_t begin = 0;
  do {
    const std::size_t piece = std::min(longest_piece_, bytes - begin);
    check(MPI_Irecv(at(values, begin), static_cast<int>(piece), MPI_BYTE, machine, tag,
                    operation->communicator(), operation->add()),
          "MPI_Irecv");
    begin += piece;
  } while (begin < bytes);
  return operation;
}

}  // namespace syncopate::fabric::mpi

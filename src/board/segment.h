// The memory of one machine's ranks: a file without a name (memfd) that they map. It is sparse and
// nominally huge; memory is used where it is touched. The kernel frees it when the last process
// that has it is gone, however that process ended, and the size of /dev/shm does not matter to it.
// Under a limit on file sizes (ulimit -f) it is as large as that allows.
//
// Where one process has all the ranks, it is memory of that process instead. The kernel gives that
// large pages when asked, which it seldom does for shared memory, and MPI is faster with these
// where it lets processes of a host read each other's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace syncopate::board {

/// A mapped part of a segment.
class Mapping {
 public:
  Mapping(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::byte* data() const { return static_cast<std::byte*>(address_); }
  std::size_t size() const { return bytes_; }

 private:
  void* address_;
  std::size_t bytes_;
};

class Segment {
 public:
  static std::shared_ptr<Segment> create();
  /// For ranks that are all in this process, which no other process opens.
  static std::shared_ptr<Segment> create_private();
  /// Opens the segment that another process described by address().
  static std::shared_ptr<Segment> open(const std::string& address);
  Segment(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  /// A path under which other processes of this user can open the segment while this one lives;
  /// empty if none can.
  std::string address() const;

  /// `offset` is a multiple of kPage, and a part is always mapped whole. It is zero until a rank
  /// writes to it. Ranks that are threads of one process share one mapping, so that tools can see
  /// them meet.
  std::shared_ptr<Mapping> map(std::uint64_t offset, std::size_t bytes);
  /// Gives the memory of a part back that was mapped and is no longer used. Mapped again it is
  /// zero.
  void discard(std::uint64_t offset, std::size_t bytes);

  /// Regions start on boundaries of this size, so that large ones can have large pages.
  static constexpr std::uint64_t kPage = std::uint64_t{1} << 21;
  static constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
  }

 private:
  static constexpr int kNoFile = -1;

  int descriptor_;  ///< Or kNoFile.
  std::uint64_t size_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<Mapping>> mapped_;
  /// Without a file the memory is there as long as it is mapped.
  std::map<std::uint64_t, std::shared_ptr<Mapping>> kept_;
};

/// Bytes that can still be used here: what the machine has free, less what a container denies.
std::uint64_t available_memory();

}  // namespace syncopate::board

#include "board/segment.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "syncopate/error.h"

namespace syncopate::board {
namespace {

/// Room for every collective of a run. Nothing is reserved: only touched pages take memory.
constexpr std::uint64_t kNominalSize = std::uint64_t{1} << 60;

[[noreturn]] void fail(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::environment, what + ": " + std::strerror(errno), remedy);
}

std::uint64_t read_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t headroom(const char* limit_path, const char* usage_path) {
  const std::uint64_t limit = read_number(limit_path);
  const std::uint64_t usage = read_number(usage_path);
  if (limit == std::numeric_limits<std::uint64_t>::max()) return limit;
  return limit > usage ? limit - usage : 0;
}

/// Memory of this process; if there is room for large pages, it begins where one can.
void* map_private(std::size_t bytes) {
  const std::size_t slack = bytes >= Segment::kPage ? Segment::kPage : 0;
  void* all = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED || slack == 0) return all;
  auto* const begin = static_cast<std::byte*>(all);
  const std::size_t before = Segment::whole_pages(std::uintptr_t(all)) - std::uintptr_t(all);
  const std::size_t system_page = sysconf(_SC_PAGESIZE);
  const std::size_t used = (bytes + system_page - 1) / system_page * system_page;
  if (before > 0) munmap(begin, before);
  if (before < slack) munmap(begin + before + used, bytes + slack - before - used);
  return begin + before;
}

}  // namespace

Mapping::~Mapping() { munmap(address_, bytes_); }

std::shared_ptr<Segment> Segment::create() {
  const int descriptor = memfd_create("syncopate-board", MFD_CLOEXEC);
  if (descriptor < 0) {
    fail("cannot create the board's shared memory", "Check the limit on open files (ulimit -n)");
  }
  auto segment = std::make_shared<Segment>(descriptor);
  if (ftruncate(descriptor, kNominalSize) != 0) {
    fail("cannot size the board's shared memory", "Lift the limit on file sizes (ulimit -f)");
  }
  return segment;
}

std::shared_ptr<Segment> Segment::create_private() { return std::make_shared<Segment>(kNoFile); }

std::shared_ptr<Segment> Segment::open(const std::string& address) {
  const int descriptor = ::open(address.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    fail("cannot open the board at " + address,
         "The launcher that made it must still run, on this machine and as the same user");
  }
  auto segment = std::make_shared<Segment>(descriptor);
  struct stat status;
  if (fstat(descriptor, &status) != 0 || std::uint64_t(status.st_size) != kNominalSize) {
    throw Error(ErrorCode::environment, address + " is not a board",
                "Start the ranks with syncopate run and leave its variables alone");
  }
  return segment;
}

Segment::~Segment() {
  if (descriptor_ != kNoFile) close(descriptor_);
}

std::string Segment::address() const {
  if (descriptor_ == kNoFile) return "";
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

std::shared_ptr<Mapping> Segment::map(std::uint64_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto known = mapped_[offset].lock()) return known;
  void* address = descriptor_ == kNoFile
                      ? map_private(bytes)
                      : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                             descriptor_, static_cast<off_t>(offset));
  if (address == MAP_FAILED) {
    throw Error(
        ErrorCode::out_of_memory,
        "cannot map " + std::to_string(bytes >> 20) + " MiB of the board: " + std::strerror(errno),
        "Lift the limit on address space (ulimit -v) or use a smaller window");
  }
  // A wish: fewer page-table look-ups for large vectors where the system allows it. Memory is used
  // page by page then, which would be much for small ones.
  if (bytes >= 3 * kPage) madvise(address, bytes, MADV_HUGEPAGE);
  std::erase_if(mapped_, [](const auto& entry) { return entry.second.expired(); });
  auto mapping = std::make_shared<Mapping>(address, bytes);
  mapped_[offset] = mapping;
  if (descriptor_ == kNoFile) kept_[offset] = mapping;
  return mapping;
}

void Segment::discard(std::uint64_t offset, std::size_t bytes) {
  if (descriptor_ == kNoFile) {
    const std::lock_guard lock(mutex_);
    kept_.erase(offset);
    return;
  }
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(bytes));
}

std::uint64_t available_memory() {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  std::ifstream file("/proc/meminfo");
  for (std::string key, unit; file >> key;) {
    std::uint64_t kilobytes = 0;
    file >> kilobytes;
    std::getline(file, unit);
    if (key == "MemAvailable:") available = kilobytes * 1024;
  }
  return std::min({available,
                   headroom("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                   headroom("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                            "/sys/fs/cgroup/memory/memory.usage_in_bytes")});
}

}  // namespace syncopate::board

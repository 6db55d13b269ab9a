#include "board/segment.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "base/control_groups.h"
#include "syncopate/error.h"

namespace syncopate::board {
namespace {

/// Space for every collective of a run. Nothing is reserved: only touched pages take memory.
constexpr std::uint64_t kNominalSize = std::uint64_t{1} << 60;

[[noreturn]] void fail(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::environment, what + ": " + std::strerror(errno), remedy);
}

/// A process that has mapped the board counts on its size. None can change it, or allow that again.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// What a file may grow to here. Beyond it the kernel would not only refuse: it sends SIGXFSZ,
/// which ends the process without a word.
std::uint64_t largest_file() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur > kNominalSize) return kNominalSize;
  return limit.rlim_cur / Segment::kPage * Segment::kPage;
}

int make_file() {
#ifndef MFD_NOEXEC_SEAL
  constexpr unsigned MFD_NOEXEC_SEAL = 8;  // Since Linux 6.3: what lies there cannot be executed.
#endif
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int descriptor = memfd_create("syncopate-board", kFlags | MFD_NOEXEC_SEAL);
  if (descriptor >= 0 || errno != EINVAL) return descriptor;
  return memfd_create("syncopate-board", kFlags);
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
  const int descriptor = make_file();
  if (descriptor < 0) {
    fail("cannot create the board's shared memory", "Check the limit on open files (ulimit -n)");
  }
  auto segment = std::make_shared<Segment>(descriptor, largest_file());
  if (ftruncate(descriptor, static_cast<off_t>(segment->size_)) != 0) {
    fail("cannot size the board's shared memory", "Lift the limit on file sizes (ulimit -f)");
  }
  if (fchmod(descriptor, S_IRUSR | S_IWUSR) != 0 || fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) {
    fail("cannot protect the board's shared memory", "Report this, with the version of the kernel");
  }
  return segment;
}

std::shared_ptr<Segment> Segment::create_private() {
  return std::make_shared<Segment>(kNoFile, kNominalSize);
}

std::shared_ptr<Segment> Segment::open(const std::string& address) {
  const int descriptor = ::open(address.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    fail("cannot open the board at " + address,
         "The launcher that made it must still run, on this machine and as the same user");
  }
  auto segment = std::make_shared<Segment>(descriptor, 0);
  struct stat status {};
  const bool found = fstat(descriptor, &status) == 0;
  const int seals = fcntl(descriptor, F_GET_SEALS);  // Of a file on a disk: -1, which is no set.
  segment->size_ = std::uint64_t(status.st_size);
  if (!found || segment->size_ == 0 || segment->size_ % kPage != 0 || seals < 0 ||
      (seals & kSeals) != kSeals) {
    throw Error(ErrorCode::environment, address + " is not a board",
                "Start the ranks with syncopate run and leave its variables alone");
  }
  if (status.st_uid != geteuid()) {
    throw Error(ErrorCode::environment,
                "the board at " + address + " belongs to user " + std::to_string(status.st_uid) +
                    ", and this process is user " + std::to_string(geteuid()) + "'s",
                "Run the launcher and its ranks as one user");
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
  // Touching a page behind the end of the file would be a SIGBUS.
  if (offset > size_ || bytes > size_ - offset) {
    throw Error(ErrorCode::out_of_memory,
                "the board may have " + std::to_string(size_ >> 20) +
                    " MiB by the limit on file sizes, and now needs " +
                    std::to_string(((offset + bytes - 1) >> 20) + 1) + " MiB",
                "Lift that limit (ulimit -f) where the ranks are started");
  }
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
  return std::min(available, base::ControlGroups().memory_left());
}

}  // namespace syncopate::board

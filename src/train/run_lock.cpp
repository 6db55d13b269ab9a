#include "train/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "syncopate/error.h"
#include "train/durable_file.h"

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

/// Read and write for those who may write in the directory, and nothing for the others: a process
/// that can open the file, if only to read it, can lock it.
mode_t mode_for(const fs::path& directory) {
  struct stat status {};
  constexpr mode_t kOwner = 0600;
  if (::stat(directory.c_str(), &status) != 0) return kOwner;
  const mode_t writers = status.st_mode & (S_IWGRP | S_IWOTH);
  return kOwner | writers | (writers << 1);
}

/// What the holder has written about itself, for a sentence about it.
std::string holder_in(int file) {
  std::array<char, 256> text{};
  const ssize_t length = ::pread(file, text.data(), text.size(), 0);
  const std::string words(text.data(), length > 0 ? std::size_t(length) : 0);
  const std::string line = words.substr(0, words.find('\n'));
  return line.empty() ? "another job" : "another job, " + line;
}

/// A help for people: nothing depends on it.
void write_holder(int file) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string line = fmt::format("process {} on {}\n", ::getpid(), host.data());
  if (::ftruncate(file, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(file, line.data(), line.size(), 0);
}

}  // namespace

RunLock::RunLock(const fs::path& directory) {
  const fs::path name = directory / "lock";
  const mode_t mode = mode_for(directory);
  // Ranks that this process starts hold it, too: if it is killed, one of them may still be writing.
  file_ = uninterrupted([&] { return ::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, mode); });
  if (file_ < 0) {
    throw Error(ErrorCode::environment,
                fmt::format("{} cannot be opened: {}", name.string(), std::strerror(errno)),
                "Train as the user that the run belongs to, or see that you may write in its "
                "directory and that there is room on the disk");
  }
  struct stat status {};
  // If it is also the name of another file, that one is not ours to change.
  const bool ours = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
  // Whatever the umask, and where an earlier version let all read it. Others may own the file.
  if (ours && ::fchmod(file_, mode) != 0) errno = 0;
  // File systems without locks have to do without.
  const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  if (locked && ours) write_holder(file_);
  if (locked || errno != EWOULDBLOCK) return;
  const std::string holder = holder_in(file_);
  ::close(file_);
  throw Error(ErrorCode::environment,
              fmt::format("the run in {} is being trained by {}", directory.string(), holder),
              "Wait for its end, or end it with Ctrl-C");
}

RunLock::~RunLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace syncopate::train

#include "train/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

/// Network file systems interrupt other calls than slow ones, too.
template <typename Call>
auto uninterrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

[[noreturn]] void fail(int error, const fs::path& file) {
  throw std::system_error(error, std::generic_category(), file.string());
}

/// While it lives, a write beyond the limit on the size of files fails and sends no signal.
class NoSignalAtLimit {
 public:
  NoSignalAtLimit() {
    ::sigemptyset(&limit_);
    ::sigaddset(&limit_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &limit_, &before_);
  }
  ~NoSignalAtLimit() {
    const timespec at_once{};
    while (::sigtimedwait(&limit_, nullptr, &at_once) == SIGXFSZ) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignalAtLimit(const NoSignalAtLimit&) = delete;
  NoSignalAtLimit& operator=(const NoSignalAtLimit&) = delete;

 private:
  sigset_t limit_{}, before_{};
};

/// Returns 0 or the errno.
int sync(int descriptor) {
  return uninterrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
}

int create(const fs::path& file) {
  constexpr mode_t kMode = 0644;
  const int descriptor = uninterrupted(
      [&] { return ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode); });
  if (descriptor < 0) fail(errno, file);
  return descriptor;
}

}  // namespace

int write_all(int descriptor, std::string_view bytes) {
  const NoSignalAtLimit during_this;
  while (!bytes.empty()) {
    const ssize_t taken =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (taken < 0) return errno;
    if (taken == 0) return EIO;  // Asked again it might say so for ever.
    bytes.remove_prefix(std::size_t(taken));
  }
  return 0;
}

void write_file(const fs::path& file, std::string_view bytes) {
  const int descriptor = create(file);
  int error = write_all(descriptor, bytes);
  if (error == 0) error = sync(descriptor);
  ::close(descriptor);  // What it could complain of, fsync has.
  if (error == 0) return;
  ::unlink(file.c_str());
  fail(error, file);
}

void replace_file(const fs::path& file, std::string_view bytes) {
  Replacement fresh(file);
  fresh.write(bytes);
  fresh.take_place();
}

Replacement::Replacement(const fs::path& file)
    : file_(file), fresh_(file.string() + ".new"), descriptor_(create(fresh_)) {}

Replacement::~Replacement() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(fresh_.c_str());
}

void Replacement::write(std::string_view bytes) {
  if (const int error = write_all(descriptor_, bytes); error != 0) fail(error, file_);
}

void Replacement::take_place() {
  if (const int error = sync(descriptor_); error != 0) fail(error, file_);
  if (uninterrupted([&] { return ::rename(fresh_.c_str(), file_.c_str()); }) != 0) {
    fail(errno, file_);
  }
  ::close(std::exchange(descriptor_, -1));
  sync_folder(folder_of(file_));
}

void rename_file(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0) fail(errno, to);
  sync_folder(folder_of(to));
  if (folder_of(from) != folder_of(to)) sync_folder(folder_of(from));
}

void sync_folder(const fs::path& folder) {
  const int descriptor =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) fail(errno, folder);
  const int error = sync(descriptor);
  ::close(descriptor);
  // Some file systems know no fsync of a folder, and put names on the disk as they please.
  if (error != 0 && error != EINVAL && error != EOPNOTSUPP) fail(error, folder);
}

void make_folders(const fs::path& folder) {
  std::error_code unknown;
  if (fs::exists(folder, unknown)) return;
  make_folders(folder_of(folder));
  constexpr mode_t kMode = 0777;
  const int made = uninterrupted([&] { return ::mkdir(folder.c_str(), kMode); });
  if (made != 0 && errno != EEXIST) fail(errno, folder);
  sync_folder(folder_of(folder));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace syncopate::train

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

/// A file of our own: what has the name, if only a link to another's file, is not written to.
int create(const fs::path& file) {
  constexpr mode_t kMode = 0644;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  // An interrupted call may have made the file all the same.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (uninterrupted([&] { return ::unlink(file.c_str()); }) != 0 && errno != ENOENT) break;
    const int descriptor = uninterrupted([&] { return ::open(file.c_str(), kFlags, kMode); });
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) break;
  }
  fail(errno, file);
}

/// Calls a function of the library until it is not interrupted.
template <typename Call>
void finish(const fs::path& path, const Call& call) {
  std::error_code error;
  do {
    call(error);
  } while (error == std::errc::interrupted);
  if (error) fail(error.value(), path);
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
  uninterrupted([&] { return ::unlink(file.c_str()); });
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
  uninterrupted([&] { return ::unlink(fresh_.c_str()); });
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

bool exchange_names(const fs::path& one, const fs::path& other) {
  const int exchanged = uninterrupted(
      [&] { return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE); });
  if (exchanged == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return false;
  fail(errno, other);
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
  make_folder(folder);
  sync_folder(folder_of(folder));
}

bool make_folder(const fs::path& folder) {
  constexpr mode_t kMode = 0777;
  if (uninterrupted([&] { return ::mkdir(folder.c_str(), kMode); }) == 0) return true;
  if (errno != EEXIST) fail(errno, folder);
  return false;
}

void make_link(const fs::path& target, const fs::path& link) {
  if (uninterrupted([&] { return ::symlink(target.c_str(), link.c_str()); }) != 0) {
    fail(errno, link);
  }
}

void remove_whole(const fs::path& path) {
  finish(path, [&](std::error_code& error) { fs::remove_all(path, error); });
}

bool has_entry(const fs::path& path) {
  std::error_code unreadable;
  const fs::file_type type = fs::symlink_status(path, unreadable).type();
  return type != fs::file_type::not_found && type != fs::file_type::none;
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace syncopate::train

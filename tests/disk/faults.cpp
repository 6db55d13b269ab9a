// A library to preload: it counts, records and disturbs the calls by which a program changes files
// below one folder. All processes that are given the same folder and log count together, in the
// order in which the calls are made.
//
// DISK_UNDER: the folder.
// DISK_LOG: a file elsewhere, which gets a line per call (record.h). Its lock orders the calls.
// DISK_FAIL: "N:FAULT", the N-th call fails. FAULT is an errno as a number; "short", a write takes
// only half; "kill", the process dies before it; "halt", all processes of the job do; "torn", they
// do when half of it is written. "N+:FAULT": all calls from the N-th on that need room fail.
// "CALL FILE:FAULT": the first such call of each process on a file of this name fails.
// "each:FAULT": every call fails when it is made first, and not when it is made again; with "short"
// every write. DISK_PLAIN: if set, the file system cannot exchange two names (renameat2 fails with
// EINVAL).
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "disk/record.h"

namespace {

using syncopate::testing::hex;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Whether the call is one that a full disk refuses.
enum class Space { needed, not_needed };

struct Fault {
  long number = 0;  ///< 0: none.
  std::string call, file;
  bool onwards = false, each = false;
  std::string kind;
  std::string failed;  ///< The last call that did, if each is to.

  static Fault parse() {
    const std::string text = setting("DISK_FAIL");
    const auto colon = text.find(':'), space = text.find(' ');
    Fault fault;
    if (colon == std::string::npos) return fault;
    fault.kind = text.substr(colon + 1);
    fault.number = std::atol(text.c_str());
    fault.onwards = text[colon - 1] == '+';
    fault.each = text.starts_with("each:");
    if (space < colon) {
      fault.call = text.substr(0, space);
      fault.file = "/" + text.substr(space + 1, colon - space - 1);
    }
    return fault;
  }
  bool hits(long count, Space room, const std::string& name, const std::string& path) {
    if (each) {
      const std::string now = name + " " + path;
      const bool again = now == failed && kind != "short";
      failed = again ? "" : now;
      return !again;
    }
    if (!call.empty()) {
      const bool hit = name == call && path.ends_with(file);
      if (hit) call.clear();
      return hit;
    }
    if (number == 0) return false;
    return onwards ? count >= number && room == Space::needed : count == number;
  }
};

std::string absolute(int folder, const char* name) {
  if (name[0] == '/') return name;
  std::array<char, PATH_MAX> place{};
  const std::string link =
      folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
  if (::readlink(link.c_str(), place.data(), place.size() - 1) < 0) return name;
  return std::string(place.data()) + "/" + name;
}

std::string path_of(int descriptor) {
  std::array<char, PATH_MAX> place{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return ::readlink(link.c_str(), place.data(), place.size() - 1) < 0 ? "" : place.data();
}

/// Without the folder before it; nothing for a file elsewhere, and for one that has no name any
/// more.
std::string name_below(const std::string& path) {
  static const std::string under = std::string(setting("DISK_UNDER")) + "/";
  if (under.size() == 1 || (path + "/").compare(0, under.size(), under) != 0) return "";
  if (path.size() < under.size()) return ".";
  const std::string name = path.substr(under.size());
  return name.ends_with(" (deleted)") ? "" : name;
}

/// A call that is under way: while it lives, no other process makes one.
class Call {
 public:
  Call(const char* what, const std::string& path, Space room)
      : what_(what), name_(name_below(path)) {
    if (name_.empty()) return;
    log_ = next<int(const char*, int, ...)>("open")(setting("DISK_LOG"),
                                                    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    while (::flock(log_, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat status {};
    // Every line has its number, so that the last one tells how many there were.
    ::fstat(log_, &status);
    std::array<char, 32> last{};
    const off_t from = status.st_size > 20 ? status.st_size - 20 : 0;
    const ssize_t got = ::pread(log_, last.data(), last.size() - 1, from);
    const std::string_view end(last.data(), got > 0 ? std::size_t(got) : 0);
    const auto place = end.rfind('#');
    number_ = (place == std::string_view::npos ? 0 : std::atol(last.data() + place + 1)) + 1;
    static Fault fault = Fault::parse();
    if (fault.hits(number_, room, what_, name_)) fault_ = fault.kind;
    if (fault_ == "kill") ::kill(::getpid(), SIGKILL);
    if (fault_ == "halt") halt();
  }
  ~Call() {
    if (log_ >= 0) ::close(log_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// The errno with which it is to fail; 0: with none.
  int error() const { return std::atoi(fault_.c_str()); }
  bool is_short() const { return fault_ == "short" || fault_ == "torn"; }

  /// What the call did. A line: the call, its words, and how many there were.
  void done(const std::string& words = "") {
    if (log_ < 0) return;
    const std::string line =
        std::string(what_) + " " + name_ + " " + words + " #" + std::to_string(number_) + "\n";
    if (next<ssize_t(int, const void*, std::size_t)>("write")(log_, line.data(), line.size()) !=
        ssize_t(line.size())) {
      std::abort();
    }
    if (fault_ == "torn") halt();
  }
  /// It failed: it counts, and nothing has changed.
  void failed() {
    what_ = "failed";
    done();
  }
  static std::string below(const std::string& path) { return name_below(path); }

 private:
  /// Ranks die with the process that has started them.
  [[noreturn]] static void halt() {
    ::kill(*setting("SYNCOPATE_RANK") == 0 ? ::getpid() : ::getppid(), SIGKILL);
    for (;;) ::pause();
  }

  const char* what_;
  std::string name_;
  std::string fault_;
  int log_ = -1;
  long number_ = 0;
};

/// Makes the call, or lets it fail; records what became of it.
template <typename Make>
int attempt(Call& call, const std::string& words, const Make& make) {
  if (call.error() != 0) {
    call.failed();
    errno = call.error();
    return -1;
  }
  const int result = make();
  const int error = errno;
  if (result < 0) {
    call.failed();
  } else {
    call.done(words);
  }
  errno = error;
  return result;
}

int open_at(int folder, const char* name, int flags, mode_t mode) {
  static auto* real = next<int(int, const char*, int, ...)>("openat");
  if ((flags & O_CREAT) == 0) return real(folder, name, flags, mode);
  Call call("create", absolute(folder, name), Space::needed);
  return attempt(call, (flags & O_TRUNC) != 0 ? "truncate" : "keep",
                 [&] { return real(folder, name, flags, mode); });
}

mode_t mode_in(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int rename_at(const char* what, int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) {
  static auto* real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  const std::string target = absolute(to_folder, to);
  Call call(what, absolute(from_folder, from), Space::not_needed);
  return attempt(call, Call::below(target), [&] {
    if ((flags & RENAME_EXCHANGE) != 0 && *setting("DISK_PLAIN") != 0 &&
        !Call::below(target).empty()) {
      errno = EINVAL;
      return -1;
    }
    return real(from_folder, from, to_folder, to, flags);
  });
}

int unlink_at(int folder, const char* name, int flags) {
  static auto* real = next<int(int, const char*, int)>("unlinkat");
  Call call("unlink", absolute(folder, name), Space::not_needed);
  return attempt(call, "", [&] { return real(folder, name, flags); });
}

int sync(const char* name, int descriptor) {
  auto* real = next<int(int)>(name);
  Call call("sync", path_of(descriptor), Space::not_needed);
  return attempt(call, "", [&] { return real(descriptor); });
}

}  // namespace

extern "C" {

int open(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, name, flags, mode);
}
int open64(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, name, flags, mode);
}
int openat(int folder, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_at(folder, name, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, std::size_t count) {
  static auto* real = next<ssize_t(int, const void*, std::size_t)>("write");
  Call call("write", path_of(descriptor), Space::needed);
  if (call.error() != 0) {
    call.failed();
    errno = call.error();
    return -1;
  }
  const ssize_t taken = real(descriptor, bytes, call.is_short() ? (count + 1) / 2 : count);
  const int error = errno;
  call.done(hex({static_cast<const char*>(bytes), taken > 0 ? std::size_t(taken) : 0}));
  errno = error;
  return taken;
}

int fsync(int descriptor) { return sync("fsync", descriptor); }
int fdatasync(int descriptor) { return sync("fdatasync", descriptor); }

int rename(const char* from, const char* to) {
  return rename_at("rename", AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return rename_at("rename", from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const bool exchanges = (flags & RENAME_EXCHANGE) != 0;
  return rename_at(exchanges ? "exchange" : "rename", from_folder, from, to_folder, to, flags);
}

int mkdir(const char* name, mode_t mode) {
  static auto* real = next<int(const char*, mode_t)>("mkdir");
  Call call("mkdir", absolute(AT_FDCWD, name), Space::needed);
  return attempt(call, "", [&] { return real(name, mode); });
}
int symlink(const char* target, const char* name) {
  static auto* real = next<int(const char*, const char*)>("symlink");
  Call call("symlink", absolute(AT_FDCWD, name), Space::needed);
  return attempt(call, target, [&] { return real(target, name); });
}
int unlink(const char* name) { return unlink_at(AT_FDCWD, name, 0); }
int rmdir(const char* name) { return unlink_at(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char* name) {
  struct stat status {};
  const bool folder = ::lstat(name, &status) == 0 && S_ISDIR(status.st_mode);
  return unlink_at(AT_FDCWD, name, folder ? AT_REMOVEDIR : 0);
}
int unlinkat(int folder, const char* name, int flags) { return unlink_at(folder, name, flags); }

}  // extern "C"

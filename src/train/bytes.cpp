#include "train/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "train/durable_file.h"

namespace syncopate::train {

OpenFile::OpenFile(const std::filesystem::path& file)
    : descriptor_(uninterrupted(
          [&] { return ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); })) {
  if (descriptor_.number() < 0) {
    throw Damaged(errno == ELOOP ? "it is a symbolic link, where a file is due"
                                 : std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(descriptor_.number(), &status) != 0) throw Damaged(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Damaged("it is no file");
  size_ = std::uint64_t(status.st_size);
}

void OpenFile::read(std::string& bytes, std::size_t count) {
  std::size_t place = bytes.size();
  bytes.resize(place + count);
  while (place < bytes.size()) {
    const ssize_t taken = uninterrupted(
        [&] { return ::read(descriptor_.number(), bytes.data() + place, bytes.size() - place); });
    if (taken < 0) throw Damaged(std::strerror(errno));
    if (taken == 0) throw Damaged("it is not whole");
    place += std::size_t(taken);
  }
}

std::string read_bytes(const std::filesystem::path& file, std::uint64_t most) {
  OpenFile open(file);
  if (open.size() > most) {
    throw Damaged(fmt::format("it has {} bytes, where {} at most are due", open.size(), most));
  }
  std::string bytes;
  open.read(bytes, open.size());
  return bytes;
}

void reading(const std::filesystem::path& file, const std::function<void()>& read,
             const std::string& what_to_do) {
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorCode::environment, fmt::format("{} cannot be read: {}", file.string(), reason),
                what_to_do);
  };
  try {
    read();
  } catch (const Damaged& damage) {
    refuse(damage.what());
  } catch (const Error& error) {
    refuse(error.what_happened());
  } catch (const std::bad_alloc&) {
    refuse("it is too large for the memory of this machine");
  } catch (const std::system_error& error) {
    refuse(error.code().message());
  } catch (const std::exception&) {
    refuse("it makes no sense");  // A library's own words would not help the user.
  }
}

}  // namespace syncopate::train

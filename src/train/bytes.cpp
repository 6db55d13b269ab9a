#include "train/bytes.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>

namespace syncopate::train {

std::string read_bytes(const std::filesystem::path& file, std::uint64_t most) {
  // What is no file, such as a pipe, might keep its reader waiting.
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Damaged(error ? error.message() : "it is no file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Damaged(std::strerror(errno));
  const std::uint64_t size = std::filesystem::file_size(file, error);
  if (error) throw Damaged(error.message());
  if (size > most) {
    throw Damaged(fmt::format("it has {} bytes, where {} at most are due", size, most));
  }
  std::string bytes(size, '\0');
  if (!stream.read(bytes.data(), std::streamsize(size))) throw Damaged("it is not whole");
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

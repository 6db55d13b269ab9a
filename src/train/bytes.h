// Reading files of a run, which may be damaged, cut off, or made up by others. What is wrong with
// one is said in words of ours, whichever library found it; nothing is allocated for a length that
// the file only claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "base/descriptor.h"
#include "syncopate/error.h"

namespace syncopate::train {

/// What is wrong with a file: the end of the sentence "FILE cannot be read: …".
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular file, open to be read; a link is refused, and so is what might keep its reader
/// waiting, such as a pipe. Throws Damaged.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file);

  std::uint64_t size() const { return size_; }
  /// Appends the next bytes, as many as there are to be.
  void read(std::string& bytes, std::size_t count);

 private:
  base::Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// All bytes of a file, of which there may be `most`. Throws Damaged.
std::string read_bytes(const std::filesystem::path& file, std::uint64_t most);

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Calls `read`, and turns whatever it throws on the way into one Error(environment) about the
/// file. `what_to_do`: for the user.
void reading(const std::filesystem::path& file, const std::function<void()>& read,
             const std::string& what_to_do =
                 "The file is damaged, or of another version: start the run anew");

}  // namespace syncopate::train

#include "train/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace syncopate::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format has the lowest byte first");

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kChecksum = "checksum";
/// What readers of the format accept.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::size_t kAlignment = 8;

constexpr struct {
  const char* name;
  torch::ScalarType type;
} kTypes[] = {{"F32", torch::kFloat32}, {"F64", torch::kFloat64}, {"I64", torch::kInt64}};

const char* name_of(torch::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return name;
  }
  throw std::runtime_error(std::string("no tensor of ") + torch::toString(type) + " can be kept");
}

torch::ScalarType type_named(const std::string& name) {
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  throw std::runtime_error("it has a tensor of " + name);
}

/// Of what a file holds after its header: a byte that changes changes it.
class Checksum {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, sizeof word);
      from += sizeof word;
      mix(word);
    }
    for (; bytes > 0; --bytes) mix(*from++);
  }
  std::string text() const { return std::to_string(state_); }

 private:
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 32;
  }
  std::uint64_t state_ = 0;
};

struct Opened {
  std::ifstream stream;
  nlohmann::json header;
  std::uint64_t bytes = 0;  ///< That follow it.
};

Opened open(const std::filesystem::path& path) {
  Opened file{.stream = std::ifstream(path, std::ios::binary)};
  if (!file.stream) throw std::runtime_error("it cannot be opened");
  const std::uint64_t size = std::filesystem::file_size(path);
  std::uint64_t length = 0;
  file.stream.read(reinterpret_cast<char*>(&length), sizeof length);
  if (!file.stream || length > kLongestHeader || length + sizeof length > size) {
    throw std::runtime_error("it is no file of tensors, or not whole");
  }
  std::string text(length, '\0');
  file.stream.read(text.data(), std::streamsize(length));
  file.header = nlohmann::json::parse(text);
  file.bytes = size - sizeof length - length;
  return file;
}

/// Where a tensor lies in the bytes after the header.
struct Entry {
  std::string name;
  torch::ScalarType type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

/// Of the elements times the size of each; throws if that is more than any file holds.
std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::size_t element) {
  std::uint64_t bytes = element;
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && bytes > std::numeric_limits<std::int64_t>::max() /
                                             static_cast<std::uint64_t>(size))) {
      throw std::runtime_error("it has a tensor of an impossible shape");
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

/// In the order of their places, which lie side by side and fill the file.
std::vector<Entry> entries_in(const Opened& file) {
  std::vector<Entry> entries;
  for (const auto& [name, entry] : file.header.items()) {
    if (name == kMetadata) continue;
    const auto [begin, end] =
        entry.at("data_offsets").get<std::pair<std::uint64_t, std::uint64_t>>();
    entries.push_back({.name = name,
                       .type = type_named(entry.at("dtype")),
                       .shape = entry.at("shape").get<std::vector<std::int64_t>>(),
                       .begin = begin,
                       .end = end});
  }
  std::ranges::sort(entries, {}, [](const Entry& one) { return std::pair(one.begin, one.end); });
  std::uint64_t end = 0;
  for (const Entry& one : entries) {
    if (one.begin != end || one.end < one.begin ||
        one.end - one.begin != bytes_of(one.shape, torch::elementSize(one.type))) {
      throw std::runtime_error("its tensors are not where they should be");
    }
    end = one.end;
  }
  if (end != file.bytes) throw std::runtime_error("it is not whole");
  return entries;
}

/// Numbers of eight bytes first, so that all are aligned; else by name.
std::vector<std::pair<std::string, torch::Tensor>> in_order(const Tensors& tensors) {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (const auto& [name, tensor] : tensors) {
    all.emplace_back(name, tensor.detach().to(torch::kCPU).contiguous());
  }
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const auto& one) { return one.second.element_size(); });
  return all;
}

}  // namespace

std::string to_bytes(const TensorFile& file) {
  const auto tensors = in_order(file.tensors);
  nlohmann::json header;
  Checksum checksum;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t begin = end;
    end += tensor.nbytes();
    header[name] = {{"dtype", name_of(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begin, end}}};
    checksum.add(tensor.data_ptr(), tensor.nbytes());
  }
  header[kMetadata] = file.notes;
  header[kMetadata][kChecksum] = checksum.text();
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string bytes;
  bytes.reserve(sizeof length + length + end);
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  for (const auto& [name, tensor] : tensors) {
    bytes.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  }
  return bytes;
}

Notes read_notes(const std::filesystem::path& path) {
  return open(path).header.at(kMetadata).get<Notes>();
}

TensorFile read_tensor_file(const std::filesystem::path& path) {
  Opened file = open(path);
  TensorFile result{.notes = file.header.at(kMetadata).get<Notes>()};
  Checksum checksum;
  for (const Entry& entry : entries_in(file)) {
    torch::Tensor tensor = torch::empty(entry.shape, entry.type);
    file.stream.read(static_cast<char*>(tensor.data_ptr()),
                     std::streamsize(entry.end - entry.begin));
    if (!file.stream) throw std::runtime_error("it is not whole");
    checksum.add(tensor.data_ptr(), tensor.nbytes());
    result.tensors.emplace(entry.name, std::move(tensor));
  }
  const auto noted = result.notes.extract(kChecksum);
  if (noted.empty() || noted.mapped() != checksum.text()) throw std::runtime_error("it is damaged");
  return result;
}

}  // namespace syncopate::train

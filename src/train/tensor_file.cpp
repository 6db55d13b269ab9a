#include "train/tensor_file.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace syncopate::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format has the lowest byte first");

constexpr const char* kMetadata = "__metadata__";
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

Notes notes_in(const nlohmann::json& header) {
  return header.contains(kMetadata) ? header.at(kMetadata).get<Notes>() : Notes();
}

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

}  // namespace

std::string to_bytes(const TensorFile& file) {
  nlohmann::json header{{kMetadata, file.notes}};
  std::vector<torch::Tensor> flat;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : file.tensors) {
    flat.push_back(tensor.detach().to(torch::kCPU).contiguous());
    const std::uint64_t begin = end;
    end += flat.back().nbytes();
    header[name] = {{"dtype", name_of(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string bytes;
  bytes.reserve(sizeof length + length + end);
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  for (const torch::Tensor& tensor : flat) {
    bytes.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  }
  return bytes;
}

Notes read_notes(const std::filesystem::path& path) { return notes_in(open(path).header); }

TensorFile read_tensor_file(const std::filesystem::path& path) {
  Opened file = open(path);
  TensorFile result{.notes = notes_in(file.header)};
  const auto start = file.stream.tellg();
  for (const auto& [name, entry] : file.header.items()) {
    if (name == kMetadata) continue;
    const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
    const torch::ScalarType type = type_named(entry.at("dtype"));
    const auto [begin, end] =
        entry.at("data_offsets").get<std::pair<std::uint64_t, std::uint64_t>>();
    if (begin > end || end > file.bytes ||
        end - begin != bytes_of(shape, torch::elementSize(type))) {
      throw std::runtime_error("it is not whole");
    }
    torch::Tensor tensor = torch::empty(shape, type);
    file.stream.seekg(start + std::streamoff(begin));
    file.stream.read(static_cast<char*>(tensor.data_ptr()), std::streamsize(end - begin));
    if (!file.stream) throw std::runtime_error("it is not whole");
    result.tensors.emplace(name, std::move(tensor));
  }
  return result;
}

}  // namespace syncopate::train

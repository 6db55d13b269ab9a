// The bytes of a file of tensors in the format of safetensors (huggingface.co/docs/safetensors),
// which Python reads as well: the length of a header, the header in JSON, the tensors. Free of
// torch. Among the notes in the header is a checksum of everything in the file but itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::train {

enum class Element : std::uint8_t { f32, f64, i64 };

std::string_view name_of(Element type);
std::size_t size_of(Element type);

/// A tensor where it lies; its values may not be aligned there.
struct TensorBytes {
  Element type = Element::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// What the format calls metadata.
using Notes = std::map<std::string, std::string>;

struct TensorFileBytes {
  std::map<std::string, TensorBytes> tensors;
  Notes notes;
};

/// A file of these. Its notes get a checksum.
std::string to_bytes(const TensorFileBytes& file);

/// Finds the tensors of a file, side by side up to its end, as the header says. They stay in
/// `file`. The checksum is left among the notes: the caller may want to look at them before it
/// checks it. Throws Damaged.
TensorFileBytes find_tensors(std::span<const std::byte> file);
/// Takes the checksum out of the notes; throws Damaged if it is not that of the file.
void check_sum(std::span<const std::byte> file, Notes& notes);

/// Is told of a tensor, and throws Damaged if none like it is due.
using CheckShape = std::function<void(const std::string& name, Element type,
                                      const std::vector<std::int64_t>& shape)>;
/// The bytes of a whole file, for find_tensors(). Its header is read first: each tensor is checked
/// before there is memory for any of them. Throws Damaged.
std::string read_tensor_bytes(const std::filesystem::path& file, const CheckShape& check);

/// The notes of a file alone, which takes no longer for large tensors, and checks nothing else.
/// Throws Damaged.
Notes read_notes(const std::filesystem::path& file);

}  // namespace syncopate::train

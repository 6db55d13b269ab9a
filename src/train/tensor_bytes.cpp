#include "train/tensor_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "train/bytes.h"
#include "train/json.h"

namespace syncopate::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format has the lowest byte first");

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kChecksum = "checksum";
/// As it stands in the header, before its digits. A quotation mark inside of a text has a stroke
/// before it, so that no note can look like this.
constexpr std::string_view kBeforeDigits = R"("checksum":")";
constexpr std::string_view kNoDigits = "0000000000000000";
/// What readers of the format accept.
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::size_t kAlignment = 8;
/// The bytes that say how long it is.
constexpr std::size_t kLength = 8;
/// More than torch has for any tensor of ours.
constexpr std::size_t kMostSides = 16;

constexpr struct {
  std::string_view name;
  Element type;
  std::size_t size;
} kTypes[] = {{"F32", Element::f32, 4}, {"F64", Element::f64, 8}, {"I64", Element::i64, 8}};

Element type_named(const std::string& name) {
  for (const auto& [known, type, size] : kTypes) {
    if (name == known) return type;
  }
  throw Damaged(fmt::format("it has a tensor of {}", name));
}

/// A bit that changes changes it: each step is reversible.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    while (bytes.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      bytes = bytes.subspan(sizeof word);
      mix(word);
    }
    for (const std::byte one : bytes) mix(std::uint64_t(one));
  }
  std::string digits() const { return fmt::format("{:016x}", state_); }

 private:
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 32;
  }
  std::uint64_t state_ = 0;
};

/// Where the digits of the checksum stand in a file; throws if they cannot be found.
std::size_t place_of_digits(std::string_view file, std::uint64_t header_end) {
  const std::string_view header = file.substr(0, header_end);
  const std::size_t found = header.find(kBeforeDigits);
  if (found == std::string_view::npos || header.rfind(kBeforeDigits) != found ||
      header.size() - found < kBeforeDigits.size() + kNoDigits.size()) {
    throw Damaged("it is damaged: it has no checksum");
  }
  return found + kBeforeDigits.size();
}

/// Of everything but the digits, which count as zeros.
std::string sum_of(std::span<const std::byte> file, std::size_t digits) {
  Checksum sum;
  sum.add(file.first(digits));
  sum.add(std::as_bytes(std::span(kNoDigits)));
  sum.add(file.subspan(digits + kNoDigits.size()));
  return sum.digits();
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Of the elements times the size of each; throws if that is more than any file holds, even
/// where a side of length 0 leaves nothing of it.
std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::size_t element) {
  constexpr auto kMost = std::uint64_t(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = element;
  bool empty = false;
  for (const std::int64_t side : shape) {
    const auto size = std::uint64_t(std::max<std::int64_t>(side, 1));
    if (bytes > kMost / size) throw Damaged("it has a tensor of an impossible shape");
    bytes *= size;
    empty = empty || side == 0;
  }
  return empty ? 0 : bytes;
}

std::vector<std::int64_t> whole_numbers(const nlohmann::json& list, std::size_t most) {
  std::vector<std::int64_t> numbers;
  if (list.size() > most) throw Damaged("it has a tensor of an impossible shape");
  for (const nlohmann::json& one : list) {
    // Of a member's name, so that the words are the same.
    const nlohmann::json as_member = {{"size", one}};
    numbers.push_back(
        Members(as_member, "a tensor").whole("size", 0, std::numeric_limits<std::int64_t>::max()));
  }
  return numbers;
}

struct Extent {
  std::string name;
  Element type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;
};

Extent read_place(const std::string& name, const nlohmann::json& entry) {
  Members members(entry, fmt::format("the tensor \"{}\"", name));
  Extent place{.name = name,
               .type = type_named(members.text("dtype")),
               .shape = whole_numbers(members.list("shape"), kMostSides)};
  const auto offsets = whole_numbers(members.list("data_offsets"), 2);
  if (offsets.size() != 2) throw Damaged("it has a tensor without a beginning and an end");
  members.expect_no_others();
  place.begin = std::uint64_t(offsets[0]);
  place.end = std::uint64_t(offsets[1]);
  return place;
}

/// Where the header of a file ends, by the bytes it begins with.
std::uint64_t header_end(std::span<const std::byte> beginning, std::uint64_t file_size) {
  std::uint64_t length = 0;
  if (beginning.size() < kLength) throw Damaged("it is no file of tensors, or not whole");
  std::memcpy(&length, beginning.data(), kLength);
  if (length > kLongestHeader || length + kLength > file_size) {
    throw Damaged("it is no file of tensors, or not whole");
  }
  return kLength + length;
}

Notes notes_of(const nlohmann::json& header) {
  Members all(header);
  const nlohmann::json& metadata = all.object(kMetadata);
  Members members(metadata, "its metadata");
  Notes notes;
  for (const auto& [name, value] : metadata.items()) notes[name] = members.text(name.c_str());
  return notes;
}

/// The tensors that a header names, side by side in so many bytes.
std::vector<Extent> places_in(const nlohmann::json& header, std::uint64_t size) {
  std::vector<Extent> places;
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadata) places.push_back(read_place(name, entry));
  }
  std::ranges::sort(places, {}, [](const Extent& one) { return std::pair(one.begin, one.end); });
  std::uint64_t end = 0;
  for (const Extent& one : places) {
    if (one.begin != end || one.end < one.begin ||
        one.end - one.begin != bytes_of(one.shape, size_of(one.type))) {
      throw Damaged("its tensors are not where they should be");
    }
    if (one.end > size) throw Damaged("it is not whole");
    end = one.end;
  }
  if (end != size) throw Damaged("it is not whole");
  return places;
}

/// With the bytes before it that say how long it is.
std::string read_header(OpenFile& file) {
  std::string text;
  file.read(text, std::min<std::uint64_t>(kLength, file.size()));
  file.read(text, header_end(as_bytes(text), file.size()) - kLength);
  return text;
}

}  // namespace

std::string_view name_of(Element type) { return kTypes[std::size_t(type)].name; }
std::size_t size_of(Element type) { return kTypes[std::size_t(type)].size; }

std::string to_bytes(const TensorFileBytes& file) {
  // Numbers of eight bytes first, so that all are aligned; else by name.
  std::vector<std::pair<std::string, TensorBytes>> tensors(file.tensors.begin(),
                                                           file.tensors.end());
  std::ranges::stable_sort(tensors, std::greater<>(),
                           [](const auto& one) { return size_of(one.second.type); });
  nlohmann::json header;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t begin = end;
    end += tensor.bytes.size();
    header[name] = {
        {"dtype", name_of(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  header[kMetadata] = file.notes;
  header[kMetadata][kChecksum] = kNoDigits;
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string bytes;
  bytes.reserve(kLength + length + end);
  bytes.append(reinterpret_cast<const char*>(&length), kLength).append(text);
  for (const auto& [name, tensor] : tensors) bytes.append(text_of(tensor.bytes));
  const std::size_t digits = place_of_digits(bytes, kLength + length);
  return bytes.replace(digits, kNoDigits.size(), sum_of(as_bytes(bytes), digits));
}

Notes read_notes(const std::filesystem::path& file) {
  OpenFile open(file);
  return notes_of(read_json(read_header(open).substr(kLength)));
}

std::string read_tensor_bytes(const std::filesystem::path& file, const CheckShape& check) {
  OpenFile open(file);
  std::string bytes = read_header(open);
  const nlohmann::json header = read_json(std::string_view(bytes).substr(kLength));
  const std::uint64_t size = open.size() - bytes.size();
  for (const Extent& place : places_in(header, size)) check(place.name, place.type, place.shape);
  bytes.reserve(open.size());
  open.read(bytes, size);
  return bytes;
}

TensorFileBytes find_tensors(std::span<const std::byte> file) {
  const std::uint64_t header_ends = header_end(file, file.size());
  const nlohmann::json header = read_json(text_of(file.subspan(kLength, header_ends - kLength)));
  TensorFileBytes result{.notes = notes_of(header)};
  const auto data = file.subspan(header_ends);
  for (const Extent& one : places_in(header, data.size())) {
    result.tensors[one.name] = {one.type, one.shape, data.subspan(one.begin, one.end - one.begin)};
  }
  return result;
}

void check_sum(std::span<const std::byte> file, Notes& notes) {
  const auto noted = notes.extract(kChecksum);
  const std::size_t digits = place_of_digits(text_of(file), header_end(file, file.size()));
  if (noted.empty() || noted.mapped() != text_of(file.subspan(digits, kNoDigits.size())) ||
      noted.mapped() != sum_of(file, digits)) {
    throw Damaged("it is damaged");
  }
}

}  // namespace syncopate::train

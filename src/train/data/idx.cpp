#include "train/data/idx.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "train/data/file.h"

namespace syncopate::train {
namespace {

constexpr std::uint32_t kImages = 0x803;
constexpr std::uint32_t kLabels = 0x801;
constexpr std::size_t kWord = 4;

const Remedy& idx_remedy() {
  static const Remedy words{
      "Run `make data` to fetch the data sets, or name the folder that holds them with --data",
      "Run `make data` to fetch it again"};
  return words;
}

std::uint32_t word(std::span<const std::uint8_t> bytes, std::size_t number) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes.subspan(number * kWord, kWord)) value = value << 8 | byte;
  return value;
}

/// Checks a file of the given kind against its own header and cuts the header off.
std::vector<std::uint8_t> content_of(NamedBytes file, std::uint32_t magic, std::size_t words,
                                     std::size_t each) {
  const std::string& name = file.name;
  std::vector<std::uint8_t> bytes = std::move(file.bytes);
  const std::size_t header = words * kWord;
  if (bytes.size() < header) {
    refuse(
        fmt::format("{} has {} bytes, where its header alone has {}", name, bytes.size(), header),
        idx_remedy().wrong);
  }
  if (const std::uint32_t found = word(bytes, 0); found != magic) {
    refuse(fmt::format("{} begins with {:#06x}, where a file of its kind begins with {:#06x}", name,
                       found, magic),
           idx_remedy().wrong);
  }
  for (std::size_t side = 2; side < words; ++side) {
    if (const std::uint32_t found = word(bytes, side); found != Images{}.side) {
      refuse(fmt::format("{} has images with a side of {}, where {} is due", name, found,
                         Images{}.side),
             idx_remedy().wrong);
    }
  }
  const std::size_t count = word(bytes, 1);
  if (count == 0) refuse(fmt::format("{} is empty", name), idx_remedy().wrong);
  if (const std::size_t due = header + count * each; bytes.size() != due) {
    refuse(fmt::format("{} has {} bytes, where its {} entries need {}", name, bytes.size(), count,
                       due),
           idx_remedy().wrong);
  }
  bytes.erase(bytes.begin(), bytes.begin() + std::ptrdiff_t(header));
  return bytes;
}

}  // namespace

Images read_idx(const std::filesystem::path& folder, const std::string& part) {
  const auto read = [](const std::filesystem::path& path) {
    return NamedBytes{path.string(), read_file(path, idx_remedy())};
  };
  NamedBytes images = read(folder / (part + "-images-idx3-ubyte"));
  return parse_idx(std::move(images), read(folder / (part + "-labels-idx1-ubyte")));
}

Images parse_idx(NamedBytes images_file, NamedBytes labels_file) {
  const std::string labels_name = labels_file.name;
  Images images;
  images.pixels = content_of(std::move(images_file), kImages, 4, images.bytes_each());
  images.labels = content_of(std::move(labels_file), kLabels, 2, 1);

  if (const auto pictures = images.pixels.size() / images.bytes_each();
      pictures != images.labels.size()) {
    refuse(
        fmt::format("{} has {} labels for {} images", labels_name, images.labels.size(), pictures),
        idx_remedy().wrong);
  }
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    if (images.labels[i] >= kImageClasses) {
      refuse(fmt::format("{}: label {} is {}, where 0 to {} are allowed", labels_name, i,
                         images.labels[i], kImageClasses - 1),
             idx_remedy().wrong);
    }
  }
  return images;
}

}  // namespace syncopate::train

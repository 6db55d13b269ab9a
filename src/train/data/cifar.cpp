#include "train/data/cifar.h"

#include <fmt/format.h>

#include <string>

#include "train/data/file.h"

namespace syncopate::train {
namespace {

constexpr std::size_t kPerFile = 10000;
constexpr int kTrainFiles = 5;

const Remedy& cifar_remedy() {
  static const Remedy words{
      "Download the binary version (cifar-10-binary.tar.gz) from "
      "https://www.cs.toronto.edu/~kriz/cifar.html, unpack it, and name its folder with --data",
      "Unpack cifar-10-binary.tar.gz again; if that does not help, download it again"};
  return words;
}

std::filesystem::path folder(const std::filesystem::path& data) {
  if (std::filesystem::exists(data / "test_batch.bin")) return data;
  return data / "cifar-10-batches-bin";
}

Images empty(std::size_t files) {
  Images images{.channels = 3, .side = 32};
  images.pixels.reserve(files * kPerFile * images.bytes_each());
  return images;
}

void append(Images& images, const std::filesystem::path& path) {
  append_cifar(images, read_file(path, cifar_remedy()), path.string(), kPerFile);
}

}  // namespace

// Each record is a label and the picture.
void append_cifar(Images& images, std::span<const std::uint8_t> bytes, const std::string& name,
                  std::size_t due) {
  const std::size_t record = 1 + std::size_t(images.bytes_each());
  if (bytes.size() != due * record) {
    refuse(fmt::format("{} has {} bytes, where {} images of CIFAR-10 need {}", name, bytes.size(),
                       due, due * record),
           cifar_remedy().wrong);
  }
  for (std::size_t i = 0; i < due; ++i) {
    const auto at = bytes.begin() + std::ptrdiff_t(i * record);
    if (*at >= kImageClasses) {
      refuse(fmt::format("{}: label {} is {}, where 0 to {} are allowed", name, i, *at,
                         kImageClasses - 1),
             cifar_remedy().wrong);
    }
    images.labels.push_back(*at);
    images.pixels.insert(images.pixels.end(), at + 1, at + std::ptrdiff_t(record));
  }
}

Images read_cifar_train(const std::filesystem::path& data) {
  Images images = empty(kTrainFiles);
  for (int file = 1; file <= kTrainFiles; ++file) {
    append(images, folder(data) / fmt::format("data_batch_{}.bin", file));
  }
  return images;
}

Images read_cifar_test(const std::filesystem::path& data) {
  Images images = empty(1);
  append(images, folder(data) / "test_batch.bin");
  return images;
}

}  // namespace syncopate::train

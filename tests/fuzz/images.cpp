// Files of data sets: the first byte says of which, the second where the next file begins.
#include "fuzz/refused.h"
#include "train/data/cifar.h"
#include "train/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  using namespace syncopate::train;
  if (size < 2) return 0;
  const std::span<const std::uint8_t> bytes(data + 2, size - 2);
  Images images;
  if (data[0] % 2 == 0) {
    const std::size_t labels = std::min<std::size_t>(data[1], bytes.size());
    const auto named = [](const char* name, std::span<const std::uint8_t> part) {
      return NamedBytes{name, {part.begin(), part.end()}};
    };
    taken([&] {
      images =
          parse_idx(named("IMAGES", bytes.subspan(labels)), named("LABELS", bytes.first(labels)));
    });
  } else {
    // Of other pictures than CIFAR's, so that inputs can be small.
    images = {.channels = 3, .side = 2};
    if (!taken([&] { append_cifar(images, bytes, "FILE", data[1]); })) return 0;
  }
  if (images.pixels.size() != images.labels.size() * std::size_t(images.bytes_each()))
    broken("each picture has a label");
  for (const std::uint8_t label : images.labels) {
    if (label >= kImageClasses) broken("labels are classes");
  }
  return 0;
}

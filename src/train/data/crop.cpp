#include "train/data/crop.h"

#include <algorithm>

namespace syncopate::train {

void crop_and_flip(const Images& images, std::int64_t number, std::uint64_t random,
                   std::uint8_t* target) {
  constexpr int kMargin = 4;
  constexpr int kPlaces = 2 * kMargin + 1;
  const std::int64_t side = images.side;
  const std::int64_t down = std::int64_t(random % kPlaces) - kMargin;
  const std::int64_t right = std::int64_t(random / kPlaces % kPlaces) - kMargin;
  const bool mirrored = random >> 63;

  const std::int64_t first = std::max<std::int64_t>(0, -right);
  const std::int64_t last = std::min(side, side - right);
  const std::uint8_t* source = images.pixels.data() + number * images.bytes_each();
  for (std::int64_t plane = 0; plane < images.channels; ++plane, source += side * side) {
    for (std::int64_t y = 0; y < side; ++y, target += side) {
      std::fill_n(target, side, 0);
      if (y + down < 0 || y + down >= side) continue;
      const std::uint8_t* row = source + (y + down) * side + right;
      std::copy(row + first, row + last, target + first);
      if (mirrored) std::reverse(target, target + side);
    }
  }
}

}  // namespace syncopate::train

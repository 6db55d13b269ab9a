#include "board/imprint.h"

#include <string>
#include <string_view>

#include "base/version.h"
#include "board/seats.h"
#include "syncopate/error.h"

namespace syncopate::board {
namespace {

constexpr std::uint64_t kMagic = 0x4574'6170'6f63'6e79;  // "yncopatE", little-endian
/// To be raised where what lies on a board gets another meaning and no other size.
constexpr std::uint32_t kVersion = 4;

/// Whatever changes the size of something on a board changes this.
std::uint32_t layout(LayoutBehind behind) {
  auto hash = static_cast<std::uint64_t>(behind);
  for (const std::size_t size : {Seats::bytes(1), Seats::bytes(kMaxRanks)}) {
    hash = (hash ^ size) * 0x100000001b3;  // FNV-1a, on whole numbers.
  }
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

void Imprint::write(LayoutBehind behind) {
  std::string_view(base::kBuild).copy(build_.data(), build_.size() - 1);
  layout_ = layout(behind);
  version_ = kVersion;
  magic_ = kMagic;
}

void Imprint::check(LayoutBehind behind) const {
  if (magic_ != kMagic) {
    throw Error(ErrorCode::environment,
                "there is no board of Syncopate where the ranks should meet",
                "Start the ranks with syncopate run and leave its variables alone");
  }
  const std::string_view all(build_.data(), build_.size());
  const std::string_view build = all.substr(0, all.find('\0'));
  if (version_ == kVersion && layout_ == layout(behind) && build == base::kBuild) return;
  const std::string maker = version_ < kVersion ? "an older one" : std::string(build);
  throw Error(ErrorCode::environment,
              "the board is not one of this build of Syncopate: it was made by " + maker +
                  " (board " + std::to_string(version_) + "." + std::to_string(layout_) +
                  "), and this is " + base::kBuild + " (board " + std::to_string(kVersion) + "." +
                  std::to_string(layout(behind)) + ")",
              "Start the ranks with the launcher of the same installation");
}

}  // namespace syncopate::board

#include "board/launcher_board.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "board/platform.h"
#include "board/seats.h"
#include "board/segment.h"
#include "syncopate/error.h"

namespace syncopate::board {

struct LauncherBoard::Impl {
  std::shared_ptr<Segment> segment;
  std::shared_ptr<Mapping> mapping;
  std::unique_ptr<Platform> platform;
  Seats seats;  ///< The launcher has none of its own.
};

namespace {

std::shared_ptr<Mapping> prepared(Segment& segment, int ranks, LayoutBehind behind) {
  auto mapping = segment.map(0, Seats::bytes(ranks));
  Seats::prepare(mapping->data(), ranks, behind);
  return mapping;
}

}  // namespace

LauncherBoard::LauncherBoard(int ranks, LayoutBehind behind) {
  auto segment = Segment::create();
  auto mapping = prepared(*segment, ranks, behind);
  auto platform = make_process_platform(ranks);
  const Seats seats(mapping->data());
  impl_ = std::make_unique<Impl>(
      Impl{std::move(segment), std::move(mapping), std::move(platform), seats});
}

LauncherBoard::~LauncherBoard() = default;

std::string LauncherBoard::address() const { return impl_->segment->address(); }

void LauncherBoard::gone(int local_rank) { impl_->seats.gone(local_rank, *impl_->platform); }

Duration timeout_from_environment() {
  const char* text = std::getenv(kTimeoutVariable);
  if (text == nullptr) return kDefaultTimeout;
  const auto seconds = base::number<double>(text);
  if (!seconds || !(*seconds > 0)) {
    throw Error(ErrorCode::environment, std::string(kTimeoutVariable) + " is \"" + text + "\"",
                "Set it to a number of seconds above 0, or unset it");
  }
  const double longest = std::chrono::duration<double>(kLongestTimeout).count();
  return std::max(Duration(1), Duration(std::llround(std::min(*seconds, longest) * 1e9)));
}

}  // namespace syncopate::board

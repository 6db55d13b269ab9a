#include "group/options.h"

#include "base/options.h"
#include "board/roster.h"
#include "board/words.h"
#include "group/shape.h"
#include "round/groups.h"
#include "syncopate/error.h"

namespace syncopate::group {
namespace {

constexpr int kWindowWithoutSynchronizing = 8;

}  // namespace

GroupOptions complete(GroupOptions options, int ranks) {
  if (options.group_size == 0) options.group_size = round::GroupSchedule::default_size(ranks);
  if (options.window == 0) {
    options.window =
        options.synchronize_every > 0 ? options.synchronize_every : kWindowWithoutSynchronizing;
  }
  return options;
}

void check(const GroupOptions& options, int ranks, int together) {
  base::check_values(options, ranks);
  const GroupOptions full = complete(options, ranks);
  group::Shape shape = group::Shape::of(0, DataType::float32, ranks, full);
  shape.ranks = together;
  const int buffers = shape.buffers();
  if (buffers > board::kMostBuffers) {
    throw Error(ErrorCode::invalid_argument,
                "groups of " + std::to_string(full.group_size) + " in a world of " +
                    std::to_string(ranks) + " with a window of " + std::to_string(full.window) +
                    " may need " + std::to_string(buffers) + " results at once",
                "Use larger groups or a smaller window: " + std::to_string(board::kMostBuffers) +
                    " results are the most");
  }
}

void check(const GroupOptions& options, int ranks) {
  check(options, ranks, ranks <= board::kMaxRanks ? ranks : 1);
}

}  // namespace syncopate::group

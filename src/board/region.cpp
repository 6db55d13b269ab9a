#include "board/region.h"

#include "board/layout.h"

namespace syncopate::board {
namespace {

/// A region ends with a byte per user, the ranks and the agent, that says whether it is done with
/// the region.
std::size_t departures_of(std::size_t bytes) {
  board::Layout layout;
  layout.add(bytes);
  return layout.size();
}

std::size_t with_departures(std::size_t bytes, int ranks) {
  return departures_of(bytes) + static_cast<std::size_t>(ranks) + 1;
}

}  // namespace

std::uint64_t RegionPlan::next(std::size_t bytes) {
  ++count_;
  const std::uint64_t offset = next_;
  next_ += board::Segment::whole_pages(with_departures(bytes, ranks_));
  return offset;
}

Region::Region(std::shared_ptr<board::Segment> segment, const board::Roster& roster, int user,
               std::uint64_t offset, std::size_t bytes)
    : segment_(std::move(segment)),
      roster_(roster),
      user_(user),
      offset_(offset),
      bytes_(bytes),
      mapping_(segment_->map(offset, with_departures(bytes, roster.local_size()))) {}

Region::~Region() {
  if (!roster_.seat().same_process()) return;  // A fork of the rank goes; the rank stays.
  departed(user_).store(1);
  if (in_use()) return;
  // To the end of the last page: a part of a page would be cleared and kept.
  segment_->discard(offset_, board::Segment::whole_pages(mapping_->size()));
}

board::Shared<std::uint8_t>& Region::departed(int user) const {
  return reinterpret_cast<board::Shared<std::uint8_t>*>(mapping_->data() +
                                                        departures_of(bytes_))[user];
}

bool Region::in_use() const {
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (roster_.expected(rank) && departed(rank).load() == 0) return true;
  }
  // The agent stays when its rank has left, until the last round is through.
  return roster_.across() && !roster_.dead(board::Roster::kAgentsRank) &&
         departed(agent_of(roster_)).load() == 0;
}

}  // namespace syncopate::board

#include "board/meeting.h"

#include "board/host.h"
#include "board/roster.h"
#include "board/segment.h"

namespace syncopate::board {

struct Meeting::Impl {
  std::shared_ptr<Segment> segment;
  std::shared_ptr<Mapping> mapping;
  std::unique_ptr<Host> host;
  Roster roster;  ///< Seen from outside: the launcher has no seat.
};

namespace {

std::shared_ptr<Mapping> prepared(Segment& segment, int ranks) {
  auto mapping = segment.map(0, Roster::bytes(ranks));
  Roster::prepare(mapping->data(), ranks);
  return mapping;
}

}  // namespace

Meeting::Meeting(int ranks) {
  auto segment = Segment::create();
  auto mapping = prepared(*segment, ranks);
  auto host = make_process_host(ranks);
  Roster roster(mapping->data(), -1, *host);
  impl_ =
      std::make_unique<Impl>(Impl{std::move(segment), std::move(mapping), std::move(host), roster});
}

Meeting::~Meeting() = default;

std::string Meeting::address() const { return impl_->segment->address(); }

void Meeting::gone(int rank) { impl_->roster.gone(rank); }

}  // namespace syncopate::board

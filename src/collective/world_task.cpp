#include "collective/world_task.h"

#include "fabric/packet.h"

namespace syncopate::detail {
namespace {

/// From here on whoever waits wants to know for whom.
constexpr Agent::Time kCurious = 200'000'000;

/// Whether agents have something to do with it. Where ranks differ, those who order a collective
/// have counted its place and others have not: the agents count with the former.
bool orders_something(const board::Attachment& attachment) {
  return Order::unpack(attachment).kind != Order::Kind::nothing;
}

}  // namespace

WorldTask::Line WorldTask::own_line() const {
  const board::Roster& roster = means_.roster;
  Line line;
  for (int rank = 0; rank < roster.ranks(); ++rank) {
    if (!roster.expected(rank)) continue;
    const board::Proposal& words = roster.proposal(rank, number_ + 1);
    if (!orders_something(line.order)) line.order = roster.attachment(rank, number_ + 1);
    if (line.here++ == 0) {
      line.rank = roster.number(rank);
      line.words = words;
    } else if (line.other < 0 && words != line.words) {
      line.other = roster.number(rank);
      line.other_words = words;
    }
  }
  return line;
}

Agent::Time WorldTask::work(Agent::Time now) {
  if (gathering_ == nullptr) {
    // Where nobody is left, whatever the others agree on is agreed.
    if (!means_.roster.all_proposed(number_ + 1)) return board::kNever;
    mine_ = own_line();
    lines_.resize(means_.place.machines());
    gathering_ = means_.channel->gather(&mine_, sizeof mine_, lines_.data());
    missing_ = RankSet(means_.place.ranks());
    ask_at_ = now + kCurious;
  }
  if (gathering_->done()) {
    gathering_.reset();
    ask_at_ = board::kNever;
    ++number_;
    conclude();
  } else if (now >= ask_at_) {
    ask_who_is_missing();
  }
  return gathering_ != nullptr ? now : board::kNever;
}

void WorldTask::conclude() {
  board::Agency::Dispute dispute{.number = number_};
  Order order;
  int here = 0;
  int words_known = 0;
  const auto note = [&](int rank, const board::Proposal& words) {
    if (rank < 0 || words_known == 2 || (words_known == 1 && words == dispute.words[0])) return;
    dispute.ranks[words_known] = rank;
    dispute.words[words_known] = words;
    ++words_known;
  };
  for (const Line& line : lines_) {
    here += line.here;
    if (line.here > 0 && orders_something(line.order)) order = Order::unpack(line.order);
    note(line.rank, line.words);
    note(line.other, line.other_words);
  }
  over_ = here == 0;
  take_order_(order, words_known < 2);
  if (words_known == 2) {
    means_.agency.announce_dispute(dispute);
  } else {
    means_.agency.announce_agreement(number_);
  }
}

void WorldTask::ask_who_is_missing() {
  ask_at_ = board::kNever;
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    if (machine == means_.place.machine) continue;
    means_.send(machine, fabric::Packer().put(Kind::ask).put(number_ + 1).bytes());
  }
}

void WorldTask::hear(int from, std::span<const std::byte> message) {
  fabric::Unpacker unpacker(message);
  const auto kind = unpacker.take<Kind>();
  if (unpacker.take<std::uint64_t>() != number_ + 1) return;
  if (kind == Kind::missing) {
    for (auto left = unpacker.take<std::uint32_t>(); left > 0; --left) {
      missing_.insert(unpacker.take<int>());
    }
    return;
  }
  std::vector<int> missing;
  for (int rank = 0; gathering_ == nullptr && rank < means_.roster.ranks(); ++rank) {
    if (means_.roster.awaits_proposal(rank, number_ + 1)) {
      missing.push_back(means_.roster.number(rank));
    }
  }
  fabric::Packer answer;
  answer.put(Kind::missing).put(number_ + 1).put(static_cast<std::uint32_t>(missing.size()));
  for (const int rank : missing) answer.put(rank);
  means_.send(from, answer.bytes());
}

}  // namespace syncopate::detail

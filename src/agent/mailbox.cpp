#include "agent/mailbox.h"

namespace syncopate::detail {
namespace {

template <std::size_t N>
void write(std::array<char, N>& into, const std::string& text) {
  into.fill('\0');
  text.copy(into.data(), N - 1);
}

}  // namespace

std::size_t AgentMailbox::bytes() { return sizeof(Desk); }

AgentMailbox::AgentMailbox(std::byte* memory, const board::Roster& roster,
                           board::Platform& platform)
    : desk_(*reinterpret_cast<Desk*>(memory)), roster_(roster), platform_(platform) {}

void AgentMailbox::announce_dispute(const Dispute& dispute) {
  desk_.dispute = dispute;
  desk_.disputed.store(dispute.number);
  desk_.agreements.signal(platform_);
}

const AgentMailbox::Dispute* AgentMailbox::dispute(std::uint64_t number) const {
  return desk_.disputed.load() == number ? &desk_.dispute : nullptr;
}

void AgentMailbox::set(Bits& bits, int number, bool value) {
  board::Shared<std::uint64_t>& word = bits[number / 64];
  const std::uint64_t bit = std::uint64_t{1} << (number % 64);
  const std::uint64_t before = word.load_relaxed();
  word.store(value ? before | bit : before & ~bit);
}

RankSet AgentMailbox::all_of(const Bits& bits) const {
  RankSet result(roster_.world_size());
  for (int number = 0; number < roster_.world_size(); ++number) {
    if ((bits[number / 64].load_relaxed() >> (number % 64) & 1) != 0) result.insert(number);
  }
  return result;
}

RankSet AgentMailbox::dead() const {
  RankSet result = roster_.dead();
  for (const int rank : all_of(desk_.dead).list()) result.insert(rank);
  return result;
}

void AgentMailbox::note_awaited(const RankSet& ranks) {
  for (int number = 0; number < roster_.world_size(); ++number) {
    set(desk_.awaited, number, ranks.contains(number));
  }
}

void AgentMailbox::fail(const std::string& what_happened, const std::string& what_to_do) {
  if (failed()) return;
  write(desk_.what_happened, what_happened);
  write(desk_.what_to_do, what_to_do);
  desk_.failed.store(1);
  desk_.agreements.signal(platform_);
}

void AgentMailbox::check() const {
  if (closed_) throw *closed_;
  // A rank that leaves before the others lives until they have left, too, for its agent's sake.
  // (Asked first, as an agent that fails says why before its process ends.)
  const bool gone =
      roster_.dead(board::Roster::kAgentsRank) || roster_.left_and_gone(board::Roster::kAgentsRank);
  if (failed()) {
    throw Error(ErrorCode::machine_lost, desk_.what_happened.data(), desk_.what_to_do.data());
  }
  if (gone) {
    missed_ = true;
    throw Error(
        ErrorCode::machine_lost,
        roster_.describe(board::Roster::kAgentsRank) + ", which spoke for this machine, is gone",
        kStartAgain);
  }
}

}  // namespace syncopate::detail

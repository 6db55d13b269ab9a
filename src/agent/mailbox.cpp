#include "agent/mailbox.h"

namespace syncopate::agent {
namespace {

template <std::size_t N>
void write(std::array<char, N>& into, const std::string& text) {
  into.fill('\0');
  text.copy(into.data(), N - 1);
}

}  // namespace

void AgentMailbox::announce_dispute(const Dispute& dispute) {
  desk_.dispute = dispute;
  desk_.disputed.store(dispute.number);
  desk_.agreements.signal(platform_);
}

void AgentMailbox::set(RankBits& bits, int rank, bool value) {
  board::Shared<std::uint64_t>& word = bits[rank / 64];
  const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
  const std::uint64_t before = word.load_relaxed();
  word.store(value ? before | bit : before & ~bit);
}

void AgentMailbox::note_awaited(const RankSet& ranks) {
  for (int rank = 0; rank < roster_.world_size(); ++rank) {
    set(desk_.awaited, rank, ranks.contains(rank));
  }
}

void AgentMailbox::fail(const std::string& what_happened, const std::string& what_to_do) {
  if (desk_.failed.load() != 0) return;
  write(desk_.what_happened, what_happened);
  write(desk_.what_to_do, what_to_do);
  desk_.failed.store(1);
  desk_.agreements.signal(platform_);
}

}  // namespace syncopate::agent

#include "board/roster.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "syncopate/error.h"

namespace syncopate::board {
namespace {

/// How often a waiting rank looks after the others while nothing happens.
constexpr Time kRoundsOfInspection = 20'000'000;

}  // namespace

std::size_t Roster::seats_offset() { return (sizeof(Header) + 63) / 64 * 64; }

std::size_t Roster::lives_offset(int ranks) { return seats_offset() + ranks * sizeof(Seat); }

std::size_t Roster::bytes(int ranks) { return lives_offset(ranks) + ranks; }

void Roster::prepare(std::byte* memory, int ranks) {
  std::vector<int> numbers(ranks);
  std::iota(numbers.begin(), numbers.end(), 0);
  prepare(memory, numbers, ranks);
}

void Roster::prepare(std::byte* memory, std::span<const int> numbers, int world_ranks) {
  auto* seats = reinterpret_cast<Seat*>(memory + seats_offset());
  for (std::size_t local_rank = 0; local_rank < numbers.size(); ++local_rank) {
    seats[local_rank].rank = static_cast<std::uint32_t>(numbers[local_rank]);
  }
  auto* header = reinterpret_cast<Header*>(memory);
  header->ranks = static_cast<std::uint32_t>(numbers.size());
  header->world_ranks = static_cast<std::uint32_t>(world_ranks);
  header->imprint.write();
}

int Roster::ranks_on(const std::byte* memory) {
  const auto* header = reinterpret_cast<const Header*>(memory);
  header->imprint.check();
  if (header->ranks < 1 || header->ranks > kMaxRanks) {
    throw Error(ErrorCode::environment, "the board has " + std::to_string(header->ranks) + " seats",
                "Start the ranks with the launcher of the same installation");
  }
  return static_cast<int>(header->ranks);
}

Roster::Roster(std::byte* memory, int local_rank, Platform& platform)
    : header_(*reinterpret_cast<Header*>(memory)),
      seats_(reinterpret_cast<Seat*>(memory + seats_offset())),
      lives_(reinterpret_cast<Shared<std::uint8_t>*>(memory + lives_offset(ranks_on(memory)))),
      platform_(platform),
      local_rank_(local_rank),
      local_size_(ranks_on(memory)) {}

void Roster::join(const ProcessId& process) {
  Seat& seat = seats_[local_rank_];
  step(Step::join);
  // The seat is taken by its process number first, so that two processes cannot both have it.
  std::uint64_t nobody = 0;
  if (!seat.pid.replace(nobody, process.pid)) {
    throw Error(
        ErrorCode::environment,
        "rank " + std::to_string(rank()) + " is already taken by process " + std::to_string(nobody),
        "Make one World per rank, and start each rank once");
  }
  seat.started.store(process.started);
  seat.cores = platform_.cores().mask;
  set_life(local_rank_, Life::absent, Life::present);
  check_seat();  // The launcher may have given the seat up: what it had started has ended.
}

void Roster::refuse_seat() const {
  const std::string name = "rank " + std::to_string(rank());
  if (!same_process()) {
    throw Error(ErrorCode::closed, "a fork of " + name + " has used its world",
                "Use a world and its collectives in the process that made it; after fork() only "
                "the parent is the rank");
  }
  throw Error(ErrorCode::rank_lost,
              "the others take " + name + " for dead, though it lives, and go on without it",
              "End this process: nothing that it does counts any more. See that the program which "
              "the launcher starts as a rank does not end before the rank does");
}

void Roster::leave() { set_life(local_rank_, Life::present, Life::left); }

void Roster::set_life(int local_rank, Life from, Life to) {
  auto expected_life = static_cast<std::uint8_t>(from);
  if (lives_[local_rank].replace(expected_life, static_cast<std::uint8_t>(to))) {
    header_.event.signal(platform_);
  }
}

ProcessId Roster::process_of(int local_rank) const {
  return {.pid = static_cast<std::uint32_t>(seats_[local_rank].pid.load()),
          .started = seats_[local_rank].started.load()};
}

RankSet Roster::dead() const {
  RankSet set(world_size());
  for (int local_rank = 0; local_rank < local_size_; ++local_rank) {
    if (dead(local_rank)) set.insert(rank_of(local_rank));
  }
  return set;
}

bool Roster::look_after() {
  bool found = false;
  for (int local_rank = 0; local_rank < local_size_; ++local_rank) {
    if (local_rank == local_rank_ || life(local_rank) != Life::present) continue;
    if (platform_.alive(local_rank, process_of(local_rank))) continue;
    set_life(local_rank, Life::present, Life::dead);
    found = true;
  }
  return found;
}

void Roster::gone(int local_rank) {
  set_life(local_rank, Life::absent, Life::dead);
  set_life(local_rank, Life::present, Life::dead);
}

std::string Roster::describe(int local_rank) const {
  const std::string name = "rank " + std::to_string(rank_of(local_rank));
  switch (life(local_rank)) {
    case Life::absent:
      return name + " (has not joined)";
    case Life::left:
      return name + " (has left)";
    case Life::dead:
      return name + " (dead)";
    case Life::present:
      break;
  }
  return name + " (" + platform_.describe(process_of(local_rank)) + ")";
}

bool Roster::all_proposed(std::uint64_t number) const {
  for (int local_rank = 0; local_rank < local_size_; ++local_rank) {
    if (awaits_proposal(local_rank, number)) return false;
  }
  return true;
}

std::string Roster::describe_awaited(std::uint64_t number) const {
  std::string missing;
  for (int local_rank = 0; local_rank < local_size_; ++local_rank) {
    if (!awaits_proposal(local_rank, number)) continue;
    missing += (missing.empty() ? "" : ", ") + describe(local_rank);
  }
  return missing;
}

std::uint64_t Roster::propose(const Proposal& proposal, const Attachment& attachment) {
  Seat& seat = seats_[local_rank_];
  // After a timeout the same proposal is still on the table, and others may yet come to it.
  const bool again = unanswered_ && seat.proposals[proposed_ % 2] == proposal;
  unanswered_ = false;
  if (!again) {
    ++proposed_;
    seat.proposals[proposed_ % 2] = proposal;
    seat.attachments[proposed_ % 2] = attachment;
    seat.digests[proposed_ % 2] = std::hash<std::string_view>{}({proposal.data(), proposal.size()});
    seat.proposed.store(proposed_);
  }
  return proposed_;
}

std::uint64_t Roster::agree(const Proposal& proposal, Time deadline) {
  check_seat();
  const std::uint64_t number = propose(proposal);
  step(Step::agree);
  if (all_proposed(number)) {
    // The last to come compares for all, and tells the others that they need not.
    if (all_agree()) {
      header_.event.announce(platform_, number);
    } else {
      header_.event.signal(platform_);
    }
    return number;
  }
  Lookout lookout(platform_, oversubscribed());
  for (;;) {
    const std::uint64_t news = header_.event.read();
    check_seat();  // Before the others' agreement, which a rank that they gave up has no part in.
    if (Event::number_in(news) >= number || all_proposed(number)) return number;
    const Time now = platform_.now();
    if (now >= deadline) {
      leave_on_the_table();
      note_wait(/*in_vain=*/true);
      throw Error(ErrorCode::timeout,
                  "rank " + std::to_string(this->rank()) + " waited in vain for " +
                      describe_awaited(number) + " to join in a " + proposal.data(),
                  "Every rank must make the same collectives in the same order");
    }
    lookout.wait(header_.event, news, std::min(deadline, now + kRoundsOfInspection));
    if (header_.event.read() == news) look_after();
  }
}

bool Roster::all_agree() const {
  for (int local_rank = 0; local_rank < local_size_; ++local_rank) {
    if (disagreement(local_rank) != nullptr) return false;
  }
  return true;
}

const Proposal* Roster::disagreement(int local_rank) const {
  if (header_.event.number() >= proposed_) return nullptr;  // Somebody has compared.
  const Seat& theirs = seats_[local_rank];
  if (theirs.proposed.load() < proposed_) return nullptr;
  // The digest lies beside the number just read; the words are a longer way off.
  if (theirs.digests[proposed_ % 2] == seats_[local_rank_].digests[proposed_ % 2]) return nullptr;
  const Proposal& words = theirs.proposals[proposed_ % 2];
  return words == seats_[local_rank_].proposals[proposed_ % 2] ? nullptr : &words;
}

int Roster::cores() const {
  if (cores_ > 0) return cores_;
  Cores together{.quota = platform_.cores().quota};
  bool complete = true;
  for (int local_rank = 0; local_rank < local_size_; ++local_rank) {
    complete = complete && life(local_rank) != Life::absent;
    if (life(local_rank) != Life::present) continue;
    for (std::size_t word = 0; word < together.mask.size(); ++word) {
      together.mask[word] |= seats_[local_rank].cores[word];
    }
  }
  if (complete) cores_ = together.count();
  return together.count();
}

bool Roster::oversubscribed() const { return local_size_ > cores(); }

}  // namespace syncopate::board

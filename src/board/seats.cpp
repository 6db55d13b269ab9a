#include "board/seats.h"

#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "syncopate/error.h"

namespace syncopate::board {

std::size_t Seats::seats_offset() { return (sizeof(Header) + 63) / 64 * 64; }

std::size_t Seats::lives_offset(int ranks) { return seats_offset() + ranks * sizeof(Seat); }

std::size_t Seats::bytes(int ranks) { return lives_offset(ranks) + ranks; }

void Seats::prepare(std::byte* memory, int ranks, LayoutBehind behind) {
  std::vector<int> numbers(ranks);
  std::iota(numbers.begin(), numbers.end(), 0);
  prepare(memory, numbers, ranks, behind);
}

void Seats::prepare(std::byte* memory, std::span<const int> numbers, int world_ranks,
                    LayoutBehind behind) {
  auto* seats = reinterpret_cast<Seat*>(memory + seats_offset());
  for (std::size_t local_rank = 0; local_rank < numbers.size(); ++local_rank) {
    seats[local_rank].rank = static_cast<std::uint32_t>(numbers[local_rank]);
  }
  auto* header = reinterpret_cast<Header*>(memory);
  header->ranks = static_cast<std::uint32_t>(numbers.size());
  header->world_ranks = static_cast<std::uint32_t>(world_ranks);
  header->imprint.write(behind);
}

int Seats::ranks_on(const std::byte* memory, LayoutBehind behind) {
  const auto* header = reinterpret_cast<const Header*>(memory);
  header->imprint.check(behind);
  if (header->ranks < 1 || header->ranks > kMaxRanks) {
    throw Error(ErrorCode::environment, "the board has " + std::to_string(header->ranks) + " seats",
                "Start the ranks with the launcher of the same installation");
  }
  return static_cast<int>(header->ranks);
}

Seats::Seats(std::byte* memory)
    : header_(reinterpret_cast<Header*>(memory)),
      size_(static_cast<int>(header_->ranks)),
      seats_(reinterpret_cast<Seat*>(memory + seats_offset())),
      lives_(reinterpret_cast<Shared<std::uint8_t>*>(memory + lives_offset(size_))) {
  SYNCOPATE_CHECK(size_ >= 1 && size_ <= kMaxRanks, "seats.h 1");
}

void Seats::set_life(int local_rank, Life from, Life to, Platform& platform) const {
  SYNCOPATE_CHECK(from == Life::absent || from == Life::present, "seats.h 2");
  SYNCOPATE_CHECK(from < to && !(from == Life::absent && to == Life::left), "seats.h 2");
  auto expected = static_cast<std::uint8_t>(from);
  if (lives_[local_rank].replace(expected, static_cast<std::uint8_t>(to))) {
    header_->event.signal(platform);
  }
}

void Seats::gone(int local_rank, Platform& platform) const {
  set_life(local_rank, Life::absent, Life::dead, platform);
  set_life(local_rank, Life::present, Life::dead, platform);
}

}  // namespace syncopate::board

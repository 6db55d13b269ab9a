#include "fabric/mpi/builds.h"

#include <array>
#include <string_view>
#include <vector>

#include "fabric/mpi/check.h"

namespace syncopate::fabric::mpi {
namespace {

/// Texts that end with a zero. Of one size in all versions.
struct Card {
  std::array<char, 64> build{};
  std::array<char, 192> host{};
};
static_assert(sizeof(Card) == 256);

template <std::size_t N>
void write(std::array<char, N>& into, const std::string& text) {
  text.copy(into.data(), N - 1);
}

template <std::size_t N>
std::string read(const std::array<char, N>& from) {
  const std::string_view all(from.data(), N);
  return std::string(all.substr(0, all.find('\0')));
}

std::string describe(std::size_t rank, const Card& card) {
  return "rank " + std::to_string(rank) + " on " + read(card.host) + " is Syncopate " +
         read(card.build);
}

}  // namespace

void expect_one_build(const Communicator& world, const std::string& build) {
  Card mine;
  write(mine.build, build);
  std::string host(MPI_MAX_PROCESSOR_NAME, '\0');
  int length = 0;
  check(MPI_Get_processor_name(host.data(), &length), "MPI_Get_processor_name");
  host.resize(length);
  write(mine.host, host);
  std::vector<Card> cards(world.size());
  check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE,
                      world.handle()),
        "MPI_Allgather");
  for (std::size_t rank = 1; rank < cards.size(); ++rank) {
    if (read(cards[rank].build) == read(cards[0].build)) continue;
    fail(describe(0, cards[0]) + ", and " + describe(rank, cards[rank]),
         "Install the same build of Syncopate on every machine");
  }
}

}  // namespace syncopate::fabric::mpi

#include "campaign/judge.h"

namespace syncopate::campaign {
namespace {

bool names_machine_of(const std::string& words, const Life& life, int rank) {
  RankSet here(life.ranks);
  for (const int each : life.machine_of(rank)) here.insert(each);
  const std::string ranks = (here.size() > 1 ? "(ranks " : "(rank ") + to_string(here) + ")";
  const bool here_itself = words.find("spoke for this machine") != std::string::npos &&
                           words.find("rank " + std::to_string(rank)) != std::string::npos;
  return here_itself || words.find(ranks) != std::string::npos;
}

/// Whether what a rank was told of a lost machine is so.
bool loss_is_true(const Life& life, const RankBook& told, std::uint32_t struck) {
  if (told.call == Call::join) return struck != 0;
  for (int rank = 0; rank < life.ranks; ++rank) {
    const bool lost = (struck >> rank & 1) != 0 && life.speaks(rank);
    if (lost && names_machine_of(told.complaint, life, rank)) return true;
  }
  return false;
}

}  // namespace

std::string judge_endings(const Life& life, const Book& book, std::uint32_t struck,
                          bool left_alone) {
  std::string problems;
  bool joining = false;  // A rank that was struck before MPI was up takes the others with it.
  for (int rank = 0; rank < life.ranks; ++rank) {
    const bool was_struck = (struck >> rank & 1) != 0;
    joining = joining || (was_struck && book.ranks[rank].call <= Call::join);
  }
  for (int rank = 0; rank < life.ranks; ++rank) {
    const RankBook& mine = book.ranks[rank];
    const std::string whose = "  rank " + std::to_string(rank);
    if (mine.lost && !loss_is_true(life, mine, struck)) {
      problems += whose + " was told of a loss that is none: " + mine.complaint + "\n";
    }
    const bool silent = mine.state == RankBook::State::alive && (struck >> rank & 1) == 0;
    const bool with_mpi = life.launcher != Launcher::run && joining && mine.call == Call::join;
    if (left_alone && silent && !with_mpi) problems += whose + " ended without a word\n";
  }
  return problems;
}

}  // namespace syncopate::campaign

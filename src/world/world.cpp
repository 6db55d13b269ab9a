#include "syncopate/world.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "agent/thread.h"
#include "base/text.h"
#include "board/launcher_board.h"
#include "fabric/plugin.h"
#include "fabric/tcp/link.h"
#include "syncopate/error.h"
#include "world/layout.h"
#include "world/world_state.h"

namespace syncopate {
namespace {

int number_from(const char* variable, const char* text, int low, int high) {
  const auto value = base::number<int>(text, low, high);
  if (!value) {
    throw Error(ErrorCode::environment, std::string(variable) + " is \"" + text + "\"",
                "It should be a number from " + std::to_string(low) + " to " +
                    std::to_string(high) + "; start the ranks with syncopate run");
  }
  return *value;
}

/// For ranks that are all in this process.
std::shared_ptr<board::Segment> new_segment(int ranks) {
  auto segment = board::Segment::create_private();
  board::Seats::prepare(segment->map(0, agent::ControlMemory::bytes())->data(), ranks,
                        world::layout_behind_roster());
  return segment;
}

/// A world whose ranks some launcher has started and `link` brings together: those of a machine on
/// its board, and the boards by the agents of the machines. It takes the link over unless it
/// throws.
std::shared_ptr<detail::WorldState> connected(std::unique_ptr<fabric::Link>& link) {
  const fabric::Topology& topology = link->topology();
  if (topology.ranks() > board::kMaxWorldRanks) {
    throw Error(ErrorCode::environment, "a world of " + std::to_string(topology.ranks()) + " ranks",
                "Start at most " + std::to_string(board::kMaxWorldRanks));
  }
  std::vector<int> numbers;
  int seat = 0;
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    if (topology.machine_of[rank] != topology.machine) continue;
    if (rank == topology.rank) seat = static_cast<int>(numbers.size());
    numbers.push_back(rank);
  }
  const int ranks = static_cast<int>(numbers.size());
  if (ranks > board::kMaxRanks) {
    throw Error(ErrorCode::environment, std::to_string(ranks) + " ranks on one machine",
                "Start at most " + std::to_string(board::kMaxRanks) + " on each");
  }
  std::shared_ptr<board::Segment> segment;
  if (seat == 0) {
    segment = ranks == 1 ? board::Segment::create_private() : board::Segment::create();
    board::Seats::prepare(segment->map(0, agent::ControlMemory::bytes())->data(), numbers,
                          topology.ranks(), world::layout_behind_roster());
    link->from_first(segment->address());
  } else {
    segment = board::Segment::open(link->from_first(""));
  }
  auto state = std::make_shared<detail::WorldState>(std::move(segment), seat,
                                                    board::make_process_platform(ranks));
  state->connect(link,
                 agent::AgentThread::maker([&] { return board::make_process_platform(ranks); }));
  return state;
}

std::shared_ptr<detail::WorldState> connected_or_lost(std::unique_ptr<fabric::Link> link) {
  try {
    return connected(link);
  } catch (const std::exception& exception) {
    // The others wait for this rank. If the process goes without waiting for them, the launcher
    // ends the job.
    link->note_loss();
    throw fabric::as_error(exception);
  }
}

}  // namespace

World World::from_environment() {
  const char* address = std::getenv(board::kBoardVariable);
  const char* rank_text = std::getenv(board::kRankVariable);
  const char* ranks_text = std::getenv(board::kRanksVariable);
  if (address == nullptr && rank_text == nullptr && ranks_text == nullptr) {
    if (const auto launcher = fabric::launcher_from_environment()) {
      return World(connected_or_lost(fabric::connect(*launcher)));
    }
    return World(
        std::make_shared<detail::WorldState>(new_segment(1), 0, board::make_process_platform(1)));
  }
  if (address == nullptr || rank_text == nullptr || ranks_text == nullptr) {
    throw Error(ErrorCode::environment,
                std::string("of ") + board::kRankVariable + ", " + board::kRanksVariable + " and " +
                    board::kBoardVariable + " only some are set",
                "Start the ranks with syncopate run, which sets all three, or unset them");
  }
  const int ranks = number_from(board::kRanksVariable, ranks_text, 1, board::kMaxRanks);
  const int rank = number_from(board::kRankVariable, rank_text, 0, ranks - 1);
  auto segment = board::Segment::open(address);
  const int on_board = board::Seats::ranks_on(
      segment->map(0, agent::ControlMemory::bytes())->data(), world::layout_behind_roster());
  if (on_board != ranks) {
    throw Error(ErrorCode::environment,
                std::string(board::kRanksVariable) + " is " + std::to_string(ranks) +
                    " and the board has " + std::to_string(on_board) + " seats",
                "Start the ranks with syncopate run and leave its variables alone");
  }
  return World(std::make_shared<detail::WorldState>(std::move(segment), rank,
                                                    board::make_process_platform(ranks)));
}

World World::join(Rendezvous& rendezvous, int rank, int size, const std::string& name) {
  if (size < 1 || size > board::kMaxWorldRanks || rank < 0 || rank >= size) {
    throw Error(ErrorCode::invalid_argument,
                "rank " + std::to_string(rank) + " of " + std::to_string(size) + " ranks",
                "Give a number of ranks from 1 to " + std::to_string(board::kMaxWorldRanks) +
                    ", and a rank from 0 to that less one");
  }
  constexpr std::size_t kLongestName = 200;
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  if (name.empty() || name.size() > kLongestName || !plain) {
    throw Error(ErrorCode::invalid_argument, "a world with the name \"" + name + "\"",
                "Give a name of letters, digits, dots, dashes and underscores");
  }
  return World(
      connected_or_lost(fabric::tcp::make_link(rendezvous, rank, size, name, fabric::own_build())));
}

std::vector<World> World::threads(int ranks) {
  if (ranks < 1 || ranks > board::kMaxRanks) {
    throw Error(ErrorCode::invalid_argument, "a world of " + std::to_string(ranks) + " ranks",
                "Give a number of ranks from 1 to " + std::to_string(board::kMaxRanks));
  }
  const auto segment = new_segment(ranks);
  std::vector<World> worlds;
  worlds.reserve(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    worlds.push_back(
        World(std::make_shared<detail::WorldState>(segment, rank, board::make_thread_platform())));
  }
  return worlds;
}

int World::rank() const { return state_->roster().rank(); }

int World::size() const { return state_->roster().world_size(); }

int World::local_rank() const { return state_->roster().local_rank(); }

int World::local_size() const { return state_->roster().local_size(); }

int World::machine() const { return state_->machine(); }

int World::machines() const { return state_->machines(); }

int World::cores() const { return state_->roster().cores().count(); }

RankSet World::dead() const {
  state_->roster().seat().check();
  return state_->dead();
}

RankSet World::gone() const {
  RankSet ranks = dead();
  // Of other machines only the dead are known.
  const board::Roster& roster = state_->roster();
  for (int local_rank = 0; local_rank < roster.local_size(); ++local_rank) {
    if (!roster.expected(local_rank)) ranks.insert(roster.rank_of(local_rank));
  }
  return ranks;
}

Duration World::timeout() const { return state_->timeout(); }

void World::set_timeout(Duration timeout) { state_->set_timeout(timeout); }

void World::barrier() { state_->barrier(); }

void World::broadcast_bytes(void* data, std::size_t bytes, int root) {
  state_->broadcast(data, bytes, root);
}

}  // namespace syncopate

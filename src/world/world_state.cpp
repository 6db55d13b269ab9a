#include "world/world_state.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "board/launcher_board.h"
#include "fabric/doorbell.h"
#include "partial/exchange.h"
#include "syncopate/error.h"
#include "world/layout.h"
#include "world/task_queue.h"

namespace syncopate::detail {
namespace {

using namespace std::chrono_literals;

/// Bytes of a broadcast that travel in one round.
constexpr std::size_t kMessageBytes = 64 << 10;
constexpr std::size_t kMessageElements = kMessageBytes / sizeof(float);

/// A roster of this build.
std::byte* checked(std::byte* roster) {
  board::Seats::ranks_on(roster, world::layout_behind_roster());
  return roster;
}

}  // namespace

WorldState::WorldState(std::shared_ptr<board::Segment> segment, int rank,
                       std::unique_ptr<board::Platform> platform)
    : segment_(std::move(segment)),
      control_(*segment_),
      platform_(std::move(platform)),
      roster_(checked(control_.roster()), rank, *platform_),
      timeout_(board::timeout_from_environment()),
      agreements_(roster_, *platform_, timeout_),
      regions_(agent::ControlMemory::bytes(), roster_.local_size()) {
  roster_.seat().join(board::this_process());
}

WorldState::~WorldState() {
  messenger_.reset();
  messenger_region_.reset();
  if (!roster_.seat().same_process()) {
    // Its thread is the other process's, and so are the connections.
    static_cast<void>(agent_.release());
    static_cast<void>(link_.release());
    return;
  }
  roster_.seat().leave();
  if (mailbox_ != nullptr) mailbox_->call();
  agent_.reset();  // It may yet lose a machine.
  const bool lost = board::waited_in_vain(roster_, roster_.local_rank()) ||
                    (mailbox_ != nullptr && mailbox_->lost());
  if (link_ != nullptr && (lost || !dead().empty())) link_->note_loss();
}

void WorldState::connect(std::unique_ptr<fabric::Link>& link,
                         const agent::MakeAgentDriver& make_driver) {
  if (roster_.across()) {
    fabric::doorbells_wanted();  // On every rank, so that all of them refuse.
    mailbox_ = std::make_unique<agent::RankMailbox>(control_.mailbox(), roster_, *platform_);
    agreements_.set_agent(*mailbox_);
    if (auto fabric = link->fabric()) {
      agent_ =
          make_driver({.fabric = std::move(fabric),
                       .topology = link->topology(),
                       .memory = control_,
                       .source = std::make_unique<world::TaskQueue>(segment_, roster_.local_size()),
                       .timeout = timeout_});
      mailbox_->set_driver(agent_.get());
    }
    link->set_before_end([this] { leave_before_end(); });
  }
  link->note_made();
  link_ = std::move(link);
}

void WorldState::leave_before_end() {
  if (!roster_.seat().same_process()) return;
  mailbox_->close(Error(ErrorCode::closed,
                        "the program has called MPI_Finalize, by which rank " +
                            std::to_string(roster_.rank()) + " left the world",
                        "Use the world and its collectives before MPI_Finalize only"));
  roster_.seat().leave();
  mailbox_->call();
  if (agent_ != nullptr) agent_->finish();
}

int WorldState::largest_machine() const {
  if (link_ == nullptr) return roster_.local_size();
  std::vector<int> ranks(link_->topology().machines());
  for (const int machine : link_->topology().machine_of) ++ranks[machine];
  return *std::max_element(ranks.begin(), ranks.end());
}

agent::AgentHandle WorldState::agent_handle() {
  return mailbox_ != nullptr ? agent::AgentHandle(*mailbox_) : agent::AgentHandle();
}

RankSet WorldState::dead() {
  roster_.look_after();
  return agent_handle().dead(roster_);
}

void WorldState::set_timeout(Duration timeout) {
  if (timeout <= 0ns) {
    throw Error(ErrorCode::invalid_argument, "the timeout is not above 0",
                "Give the longest time that a wait may take");
  }
  timeout_ = std::min(timeout, board::kLongestTimeout);
  if (agent_ != nullptr) agent_->set_timeout(timeout_);
}

std::shared_ptr<board::Region> WorldState::make_region(const std::string& description,
                                                       const world::CollectiveSpec& spec,
                                                       std::size_t bytes,
                                                       std::size_t smallest_bytes) {
  agreements_.agree(description);
  const std::uint64_t offset = regions_.next(bytes);
  std::shared_ptr<board::Region> region;
  std::optional<Error> failure;
  if (const std::uint64_t available = board::available_memory(); smallest_bytes > available) {
    failure.emplace(ErrorCode::out_of_memory,
                    "a " + description + " needs at least " + std::to_string(smallest_bytes >> 20) +
                        " MiB of shared memory and " + std::to_string(available >> 20) +
                        " MiB are available",
                    "Use fewer ranks on this machine or fewer elements, or allow the container "
                    "more memory (the size of /dev/shm does not matter)");
  } else {
    try {
      region =
          std::make_shared<board::Region>(segment_, roster_, roster_.local_rank(), offset, bytes);
    } catch (const Error& error) {
      failure = error;
    }
  }
  // If one rank has no room, none may go on and count on it; nor where one has not come along
  // before, after a timeout, as its places are others.
  const std::string place = "place " + std::to_string(regions_.count()) + " for a " + description;
  try {
    world::CollectiveSpec placed = spec;
    placed.refused = failure.has_value();
    agreements_.agree((failure ? "missing " : "") + place, placed);
  } catch (const Error&) {
    if (failure) throw *failure;
    throw;
  }
  if (failure) throw *failure;
  return region;
}

PartialExchange& WorldState::messenger() {
  if (messenger_ == nullptr) {
    const PartialOptions options{.trigger = all(), .scale = Scale::none, .window = 1};
    const auto shape = partial::Shape::of(kMessageElements, DataType::float32, roster_, options);
    // Bits, as what is sent need not be numbers: zeros from the other machines change nothing.
    const world::CollectiveSpec spec{.kind = world::CollectiveSpec::Kind::carrier,
                                     .type = DataType::float32,
                                     .elements = kMessageElements,
                                     .partial = options};
    messenger_region_ =
        make_region("carrier for broadcasts", spec, shape.bytes(), shape.smallest_bytes());
    messenger_ =
        std::make_unique<PartialExchange>(roster_, *platform_, timeout_, messenger_region_->data(),
                                          shape, options, nullptr, agent_handle());
  }
  return *messenger_;
}

void WorldState::barrier() { agreements_.agree("barrier"); }

void WorldState::broadcast(void* data, std::size_t bytes, int root) {
  if (root < 0 || root >= roster_.world_size()) {
    throw Error(ErrorCode::invalid_argument, "the root of a broadcast is " + std::to_string(root),
                "Give a rank from 0 to " + std::to_string(roster_.world_size() - 1));
  }
  if (data == nullptr && bytes > 0) {
    throw Error(ErrorCode::invalid_argument, "the buffer to broadcast is null", "Give a buffer");
  }
  if (broadcasting_) {
    throw Error(ErrorCode::closed, "an earlier broadcast of this rank did not come to its end",
                "Start the ranks anew: the others may be in the middle of it");
  }
  agreements_.agree("broadcast of " + std::to_string(bytes) + " bytes from rank " +
                    std::to_string(root));
  PartialExchange& carrier = messenger();
  broadcasting_ = true;
  for (std::size_t sent = 0; sent < bytes; sent += kMessageBytes) {
    auto* part = static_cast<std::byte*>(data) + sent;
    const std::size_t length = std::min(kMessageBytes, bytes - sent);
    if (roster_.rank() == root) {
      std::memcpy(carrier.writable_slot(), part, length);
      carrier.deposit_slot(1, Then::wait);
    } else {
      carrier.deposit_nothing(Then::wait);
    }
    carrier.await();
    const std::uint64_t round = carrier.reader().passed() + 1;
    if (!carrier.reader().receipt(round).contributors.contains(root)) {
      carrier.reader().pass(round);
      broadcasting_ = false;  // All ranks see the same round, and stop at the same part.
      throw Error(ErrorCode::rank_lost,
                  "rank " + std::to_string(root) + " was gone before its broadcast was through",
                  "Choose a live root (World::dead() tells who is not)");
    }
    if (roster_.rank() != root) std::memcpy(part, carrier.reader().values(round), length);
    carrier.reader().pass(round);
  }
  broadcasting_ = false;
}

}  // namespace syncopate::detail

// What an agent does for a partial allreduce, a group average and the world, where the other
// machine says anything: in messages, in lines that are gathered, and in vectors.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "agent/control_memory.h"
#include "agent/mailbox.h"
#include "board/proposals.h"
#include "board/region.h"
#include "board/segment.h"
#include "fuzz/input.h"
#include "fuzz/refused.h"
#include "group/board.h"
#include "group/messages.h"
#include "group/task.h"
#include "partial/messages.h"
#include "partial/task.h"
#include "world/messages.h"
#include "world/task_queue.h"

namespace {

using namespace syncopate;
using agent::AgentMailbox;
using agent::AgentTask;
using agent::ControlMemory;
using agent::TaskContext;
using board::Time;
using world::CollectiveSpec;

constexpr int kOther = 1;     ///< The machine that says odd things.
constexpr int kOwnRanks = 2;  ///< 0 and 1 of the world; the other machine has 2 and 3.
constexpr std::uint64_t kElements = 3;

/// A clock that goes on by itself, so that inputs are replayed as they were.
class SteadyPlatform final : public board::Platform {
 public:
  Time now() override { return now_ += 10'000; }
  void advance(Time time) { now_ += time; }
  void park(board::Shared<std::uint32_t>&, std::uint32_t, Time) override {}
  void wake(board::Shared<std::uint32_t>&, int) override {}
  bool alive(int, const board::ProcessId&) override { return true; }
  std::string describe(const board::ProcessId&) override { return "a rank"; }
  board::Eagerness eagerness(bool) const override { return {}; }
  Time yield(Time now) override { return now; }
  bool crowded(Time) const override { return false; }
  board::Cores cores() const override { return {.mask = {1}}; }

 private:
  Time now_ = 1'000'000'000;
};

class Done final : public fabric::Operation {
 public:
  bool done() override { return true; }
};

/// What comes from the other machine is what this one sends, changed here and there.
class OddChannel final : public fabric::Channel {
 public:
  explicit OddChannel(Input& input) : input_(input) {}

  std::unique_ptr<fabric::Operation> gather(const void* mine, std::size_t bytes,
                                            void* all) override {
    auto* lines = static_cast<std::byte*>(all);
    std::memcpy(lines, mine, bytes);
    std::memcpy(lines + bytes, mine, bytes);
    for (int changes = input_.below(8); changes > 0; --changes) {
      const std::size_t at = input_.take<std::uint16_t>() % bytes;
      const auto taken = input_.take_bytes(1 + input_.below(8));
      std::copy_n(taken.begin(), std::min(taken.size(), bytes - at), lines + bytes + at);
    }
    return std::make_unique<Done>();
  }
  std::unique_ptr<fabric::Operation> reduce(const void* mine, void* result, std::size_t elements,
                                            DataType type, fabric::Combine) override {
    std::memmove(result, mine, elements * size_of(type));
    return std::make_unique<Done>();
  }
  std::unique_ptr<fabric::Operation> send(int machine, int, const void*, std::size_t) override {
    if (machine != kOther) broken("values go to the other machine");
    return std::make_unique<Done>();
  }
  std::unique_ptr<fabric::Operation> receive(int machine, int, void* values,
                                             std::size_t bytes) override {
    if (machine != kOther) broken("values come from the other machine");
    const auto taken = input_.take_bytes(bytes);
    auto* into = static_cast<std::byte*>(values);
    std::fill_n(std::copy(taken.begin(), taken.end(), into), bytes - taken.size(), std::byte{0});
    return std::make_unique<Done>();
  }

 private:
  Input& input_;
};

/// A machine of two ranks beside one that says odd things.
class Machine {
 public:
  explicit Machine(Input& input) : input_(input) {
    topology_.machine_of = {0, 0, kOther, kOther};
    topology_.addresses = {"here", "there"};
    board::Seats::prepare(control_.roster(), std::vector<int>{0, 1}, topology_.ranks());
    for (int rank = 0; rank < kOwnRanks; ++rank) {
      rosters_.push_back(std::make_unique<board::Roster>(control_.roster(), rank, platform_));
      rosters_.back()->seat().join({.pid = 1, .started = 1});
      proposals_.emplace_back(*rosters_.back());
    }
    mailbox_ = std::make_unique<AgentMailbox>(control_.mailbox(), *rosters_[0], platform_);
  }

  TaskContext context() {
    return {.channel = std::make_unique<OddChannel>(input_),
            .send =
                [](int machine, std::span<const std::byte> message) {
                  if (machine != kOther) broken("messages go to the other machine");
                  if (message.size() > fabric::Fabric::kLongestMessage)
                    broken("messages are short");
                },
            .rouse = [](int) {},
            .topology = topology_,
            .roster = *rosters_[0],
            .mailbox = *mailbox_,
            .platform = platform_,
            .clock = clock_};
  }
  std::shared_ptr<board::Region> region(std::size_t bytes) {
    return std::make_shared<board::Region>(segment_, *rosters_[0],
                                           board::Region::agent_of(*rosters_[0]),
                                           ControlMemory::bytes(), bytes);
  }

  Input& input() { return input_; }
  const std::shared_ptr<board::Segment>& segment() const { return segment_; }
  SteadyPlatform& platform() { return platform_; }
  board::Roster& roster(int rank) { return *rosters_[rank]; }
  board::Proposals& proposals(int rank) { return proposals_[rank]; }

  /// `act` is what a rank does; `say` is a message that is almost right.
  void play(AgentTask& task, const std::function<void(int rank)>& act,
            const std::function<std::vector<std::byte>()>& say) {
    bool fine = true;
    while (fine && !input_.empty() && !task.over()) {
      platform_.advance(input_.take<std::uint8_t>() * Time{1'000'000});
      switch (input_.below(4)) {
        case 0:
          act(input_.below(kOwnRanks));
          break;
        case 1:
          fine = sensible([&] { task.work(platform_.now()); });
          break;
        case 2:
          fine = sensible([&] { task.hear(kOther, input_.take_bytes(input_.below(64))); });
          break;
        case 3:
          fine = sensible([&] { task.hear(kOther, say()); });
          break;
      }
      for (const int rank : task.awaited().list()) {
        if (rank >= topology_.ranks()) broken("ranks that are waited for are there");
      }
    }
  }

 private:
  Input& input_;
  SteadyPlatform platform_;
  const agent::CommonClock clock_{0};
  fabric::Topology topology_;
  std::shared_ptr<board::Segment> segment_ = board::Segment::create_private();
  ControlMemory control_{*segment_};
  std::vector<std::unique_ptr<board::Roster>> rosters_;
  std::vector<board::Proposals> proposals_;
  std::unique_ptr<AgentMailbox> mailbox_;
};

void play_partial(Machine& machine) {
  Input& input = machine.input();
  const std::vector<Trigger> triggers{all(), first(), majority(), count(2)};
  const PartialOptions options{.trigger = triggers[input.below(4)],
                               .late = input.below(2) == 1 ? carry() : drop(),
                               .scale = static_cast<Scale>(input.below(4)),
                               .window = 1 + input.below(3)};
  const auto type = static_cast<DataType>(input.below(4));
  const std::uint64_t elements = input.below(2) == 1 ? kElements : 5000;
  const auto shape = partial::Shape::of(elements, type, machine.roster(0), options);
  auto region = machine.region(shape.bytes());
  std::vector<std::unique_ptr<partial::Board>> ranks;
  for (int rank = 0; rank < kOwnRanks; ++rank) {
    ranks.push_back(std::make_unique<partial::Board>(region->data(), shape, machine.roster(rank),
                                                     machine.platform()));
  }
  detail::PartialTask task(machine.context(), region, shape, options, fabric::Combine::sum);
  const auto act = [&](int rank) {
    partial::Board& board = *ranks[rank];
    if (input.below(2) == 0) {
      board.window.release_through(board.results.published());
    } else if (const int slot = board.deposits.writable_slot(); slot >= 0) {
      board.deposits.describe(slot, 1 + input.below(3), board.window.seen(),
                              machine.platform().now(), partial::Deposits::Form::values);
      board.deposits.put(slot);
      board.participants.set_waiting(board.results.published() + 1);
    }
  };
  machine.play(task, act, [&] {
    const round::Message message{.kind = static_cast<round::Message::Kind>(input.below(4)),
                                 .round = input.near(ranks[0]->results.published() + 1),
                                 .span = input.near(1),
                                 .root = input.near(1),
                                 .facts = {.here = RankSet(2),
                                           .counting = RankSet(2),
                                           .waits = input.below(2) == 1,
                                           .seen = input.near(ranks[0]->results.published())}};
    return detail::pack(message, std::vector<int>{0, 0, kOther, kOther}, kOther);
  });
}

void play_group(Machine& machine) {
  Input& input = machine.input();
  const GroupOptions options{.group_size = 2 + input.below(3),
                             .synchronize_every = input.below(3),
                             .rotate = input.below(2) == 1,
                             .trigger = input.below(2) == 1 ? all() : first(),
                             .window = 1 + input.below(3)};
  const auto type = static_cast<DataType>(input.below(4));
  const auto shape = group::Shape::of(kElements, type, machine.roster(0), options);
  auto region = machine.region(shape.bytes());
  const round::GroupPlan plan(4, options);
  std::vector<std::unique_ptr<group::Board>> ranks;
  std::vector<std::uint64_t> steps(kOwnRanks);
  for (int rank = 0; rank < kOwnRanks; ++rank) {
    ranks.push_back(std::make_unique<group::Board>(region->data(), shape, machine.roster(rank),
                                                   machine.platform()));
    ranks.back()->publications.publish(1, 0);
  }
  group::Task task(machine.context(), region, shape, options);
  const auto act = [&](int rank) {
    group::Board& board = *ranks[rank];
    std::uint64_t& step = steps[rank];
    const auto group_of = [&](std::uint64_t at) { return plan.group_at(at, rank); };
    if (step > board.participants.seen(rank)) {  // It waits.
      if (board.results.buffer_of({.step = step, .group = group_of(step)}) >= 0) {
        board.window.release_through(step);
      }
      return;
    }
    const int slot = board.publications.free_slot(step + 1, group_of);
    if (slot < 0) return;
    board.publications.publish(slot, ++step);
    board.participants.set_waiting(step);
  };
  machine.play(task, act, [&] {
    round::GroupMessage message{
        .kind = static_cast<round::GroupMessage::Kind>(input.below(10)),
        .round = {.step = input.near(steps[0]), .group = input.below(3) - 1},
        .member = input.near(2),
        .step = input.near(steps[0]),
        .seen = input.near(steps[0]),
        .staleness = input.near(std::uint64_t{0})};
    for (int count = input.below(3); count > 0; --count) message.ranks.push_back(input.near(2));
    return group::pack(message);
  });
}

void play_world(Machine& machine) {
  Input& input = machine.input();
  std::uint64_t proposed = 0;
  world::TaskQueue queue(machine.segment(), kOwnRanks);
  const std::unique_ptr<AgentTask> task = queue.make(machine.context());
  const auto act = [&](int rank) {
    board::Proposal words{};
    words[0] = 'w';
    CollectiveSpec spec;
    if (input.below(2) == 1) {
      spec.kind = input.below(2) == 1 ? CollectiveSpec::Kind::partial : CollectiveSpec::Kind::group;
      spec.elements = kElements;
      spec.group.group_size = 2;
      spec.group.window = 4;
    }
    proposed = std::max(proposed, machine.proposals(rank).propose(words, spec.pack()));
  };
  machine.play(*task, act, [&] {
    return world::pack({.kind = static_cast<world::WorldMessage::Kind>(input.below(4)),
                        .number = input.near(proposed),
                        .span = input.near(1),
                        .ranks = {2, input.near(3)}});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const int which = input.below(3);
  Machine machine(input);
  if (which == 0) play_partial(machine);
  if (which == 1) play_group(machine);
  if (which == 2) play_world(machine);
  return 0;
}

// What agents tell each other of a round, and their boards afterwards. The test moves the agents'
// tasks by hand, so that it knows what each of them has seen when.
#include "partial/task.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "agent/control_memory.h"
#include "agent/mailbox.h"
#include "board/region.h"
#include "board/segment.h"
#include "partial/board.h"
#include "support/memory_fabric.h"

namespace syncopate::testing {
namespace {

using agent::AgentMailbox;
using agent::ControlMemory;
using board::RoundNumber;

/// A machine of one rank, and what its agent does for a partial allreduce whose rounds have begun
/// after `last`.
class Machine {
 public:
  using Send = std::function<void(int to, std::span<const std::byte> message)>;

  Machine(fabric::Fabric& fabric, const fabric::Topology& topology, const PartialOptions& options,
          RoundNumber last, Send send)
      : topology_(topology) {
    board::Seats::prepare(control_.roster(), std::vector<int>{topology.rank}, topology.ranks());
    roster_ = std::make_unique<board::Roster>(control_.roster(), 0, *platform_);
    roster_->seat().join(board::this_process());
    mailbox_ = std::make_unique<AgentMailbox>(control_.mailbox(), *roster_, *platform_);
    const auto shape = partial::Shape::of(1, DataType::float32, *roster_, options);
    auto region =
        std::make_shared<board::Region>(segment_, *roster_, board::Region::agent_of(*roster_),
                                        ControlMemory::bytes(), shape.bytes());
    rank_ = std::make_unique<partial::Board>(region->data(), shape, *roster_, *platform_);
    rank_->begin_after(last);
    std::unique_ptr<fabric::Channel> channel;
    EXPECT_TRUE(fabric.open(channel)->done());
    task_ = std::make_unique<detail::PartialTask>(agent::TaskContext{.channel = std::move(channel),
                                                                     .send = std::move(send),
                                                                     .rouse = [](int) {},
                                                                     .topology = topology_,
                                                                     .roster = *roster_,
                                                                     .mailbox = *mailbox_,
                                                                     .platform = *platform_,
                                                                     .clock = clock_},
                                                  std::move(region), shape, options,
                                                  fabric::Combine::sum);
  }

  // What its rank does.
  void deposit_and_wait() {
    const int slot = rank_->deposits.writable_slot();
    *static_cast<float*>(rank_->deposits.values(slot)) = 1;
    rank_->deposits.describe(slot, 1, rank_->window.seen(), platform_->now(),
                             partial::Deposits::Form::values);
    rank_->deposits.put(slot);
    rank_->participants.set_waiting(published() + 1);
  }
  void see_all() { rank_->window.release_through(published()); }
  RoundNumber published() const { return rank_->results.published(); }
  /// Whom receipts of the last round say it has waited for.
  int waited_for() const {
    return rank_->results.buffers().header(rank_->results.buffer_of(published())).newest;
  }

  void work() { task_->work(platform_->now()); }
  void hear(int from, std::span<const std::byte> message) { task_->hear(from, message); }

 private:
  fabric::Topology topology_;
  std::unique_ptr<board::Platform> platform_ = board::make_thread_platform();
  std::shared_ptr<board::Segment> segment_ = board::Segment::create_private();
  ControlMemory control_{*segment_};
  std::unique_ptr<board::Roster> roster_;
  std::unique_ptr<AgentMailbox> mailbox_;
  const agent::CommonClock clock_{0};  ///< All of them have one.
  std::unique_ptr<partial::Board> rank_;
  std::unique_ptr<detail::PartialTask> task_;
};

class PartialTask : public ::testing::Test {
 protected:
  static constexpr int kMachines = 3;

  void begin_after(RoundNumber last, const PartialOptions& options) {
    machines_.clear();
    fabrics_ = memory_fabrics(kMachines);
    fabric::Topology topology;
    for (int machine = 0; machine < kMachines; ++machine) {
      topology.machine_of.push_back(machine);
      topology.addresses.emplace_back("host");
    }
    for (int machine = 0; machine < kMachines; ++machine) {
      topology.rank = topology.machine = machine;
      const auto send = [this, machine](int to, std::span<const std::byte> message) {
        post_.push_back({machine, to, {message.begin(), message.end()}});
      };
      machines_.push_back(
          std::make_unique<Machine>(*fabrics_[machine], topology, options, last, send));
    }
  }

  Machine& machine(int number) { return *machines_[number]; }

  /// For longer than they have something to do.
  void let_agents_work() {
    for (int turn = 0; turn < 20; ++turn) {
      for (const auto& one : machines_) one->work();
      for (const Letter& letter : std::exchange(post_, {})) {
        machines_[letter.to]->hear(letter.from, letter.message);
      }
    }
  }

  void expect_published(RoundNumber round) {
    for (const auto& one : machines_) EXPECT_EQ(one->published(), round);
  }

 private:
  struct Letter {
    int from, to;
    std::vector<std::byte> message;
  };
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<Letter> post_;
};

TEST_F(PartialTask, TellsRoundNumbersOf52Bits) {
  for (const RoundNumber last : {RoundNumber{0}, (RoundNumber{1} << 32) - 1,
                                 (RoundNumber{1} << 32) + 5, (RoundNumber{1} << 51) + 7}) {
    SCOPED_TRACE(last);
    begin_after(last, {.trigger = first(), .window = 1});
    machine(0).deposit_and_wait();
    let_agents_work();
    expect_published(last + 1);  // The others have heard of its start.
    machine(0).see_all();
    machine(0).deposit_and_wait();
    let_agents_work();
    expect_published(last + 1);
    for (const int other : {1, 2}) machine(other).see_all();
    let_agents_work();
    expect_published(last + 2);  // The first has heard what they have seen.
  }
}

TEST_F(PartialTask, NamesTheRankOfAnotherMachineThatHeldARoundUp) {
  for (const int lagging : {1, 2}) {
    begin_after(0, {.trigger = first(), .window = 1});
    machine(0).deposit_and_wait();
    let_agents_work();
    for (int other = 0; other < kMachines; ++other) {
      EXPECT_EQ(machine(other).waited_for(), 0) << "no rank but the one that came";
      if (other != lagging) machine(other).see_all();
    }
    machine(0).deposit_and_wait();
    let_agents_work();
    expect_published(1);
    machine(lagging).see_all();
    let_agents_work();
    expect_published(2);
    for (int other = 0; other < kMachines; ++other) {
      EXPECT_EQ(machine(other).waited_for(), lagging) << "on machine " << other;
    }
  }
}

}  // namespace
}  // namespace syncopate::testing

// Ranks that wait on the same core: one of them moves to a core that has none, and not too often.
#include "board/core_sharing.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <memory>
#include <vector>

#include "board/platform.h"
#include "board/roster.h"

namespace syncopate::board {
namespace {

constexpr Time kMillisecond = 1'000'000;

/// A machine of two cores, on which the test says where a rank runs.
class TwoCores final : public Platform {
 public:
  Time now() override { return time; }
  void park(Shared<std::uint32_t>&, std::uint32_t, Time) override {}
  void wake(Shared<std::uint32_t>&, int) override {}
  bool alive(int, const ProcessId&) override { return true; }
  std::string describe(const ProcessId&) override { return "a rank"; }
  Eagerness eagerness(bool) const override { return {}; }
  Time yield(Time now) override {
    ++yields;
    return time = now + 1;
  }
  bool crowded(Time) const override { return false; }
  Cores cores() const override { return {.mask = {mask}}; }
  int core() const override { return on; }
  Time move_to(const Cores::Mask& cores, Time now) override {
    ++moves;
    on = (cores[0] & 1) != 0 ? 0 : 1;
    return time = now + 1;
  }

  Time time = kMillisecond;
  std::uint64_t mask = 0b11;
  int on = 0;
  int moves = 0;
  int yields = 0;
};

class CoreSharingTest : public ::testing::Test {
 protected:
  CoreSharingTest() : memory_(Seats::bytes(2)) {
    Seats::prepare(memory_.data(), 2);
    for (int rank = 0; rank < 2; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(memory_.data(), rank, ranks[rank]));
      rosters_.back()->seat().join({.pid = 100U + rank, .started = 1});
      sharing.emplace_back(*rosters_.back(), ranks[rank]);
    }
  }
  /// The rank has waited for a while.
  void resolve(int rank) { ranks[rank].time = sharing[rank].resolve(ranks[rank].time); }

  void leave(int rank) { rosters_[rank]->seat().leave(); }

  TwoCores ranks[2];
  std::vector<CoreSharing> sharing;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  class Memory {
   public:
    explicit Memory(std::size_t bytes) : lines_(bytes / sizeof(Line) + 1) {}
    std::byte* data() { return lines_.front().bytes; }

   private:
    std::vector<Line> lines_;
  };
  Memory memory_;
  std::vector<std::unique_ptr<Roster>> rosters_;
};

TEST_F(CoreSharingTest, TheSecondRankOnACoreMovesToTheOther) {
  resolve(0);
  EXPECT_EQ(ranks[0].moves, 0) << "it was the first to say where it is";
  resolve(1);
  EXPECT_EQ(ranks[1].moves, 1);
  EXPECT_EQ(ranks[1].on, 1);
  resolve(0);
  resolve(1);
  EXPECT_EQ(ranks[0].moves + ranks[1].moves, 1) << "each has a core now";
  EXPECT_EQ(ranks[0].yields + ranks[1].yields, 0);
}

TEST_F(CoreSharingTest, WithNoOtherCoreItOffersItsOwn) {
  ranks[1].mask = 0b01;
  resolve(0);
  resolve(1);
  EXPECT_EQ(ranks[1].moves, 0);
  EXPECT_EQ(ranks[1].yields, 1);
}

TEST_F(CoreSharingTest, MovesThatDoNotLastBecomeRare) {
  resolve(0);
  int before = 0;
  for (const Time span : {10 * kMillisecond, 100 * kMillisecond, 1000 * kMillisecond}) {
    const int moved = ranks[1].moves;
    for (const Time end = ranks[1].time + span; ranks[1].time < end;) {
      resolve(1);
      ranks[1].on = 0;  // The kernel takes it back at once.
      ranks[1].time += 50'000;
    }
    before = ranks[1].moves - moved;
  }
  EXPECT_LE(before, 1 + 1000 * kMillisecond / CoreSharing::kLongestRest);
  EXPECT_GE(before, 10) << "it does not give up";
}

TEST_F(CoreSharingTest, ARankThatHasLeftSharesNothing) {
  resolve(0);
  leave(0);
  resolve(1);
  EXPECT_EQ(ranks[1].moves, 0);
}

/// The real one: where the thread may run is as it was.
TEST(MoveTo, LeavesTheAffinityAlone) {
  const auto platform = make_thread_platform();
  const Cores::Mask all = platform->cores().mask;
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core";
  for (int core = 0; core < Cores::kMost && core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &before)) continue;
    Cores::Mask one{};
    one[core / 64] = std::uint64_t{1} << (core % 64);
    platform->move_to(one, platform->now());
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << core;
  }
  EXPECT_EQ(platform->cores().mask, all);
}

}  // namespace
}  // namespace syncopate::board

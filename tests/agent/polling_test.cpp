// An agent stays awake while that pays, and then naps: for moments at first, longer and longer as
// nothing happens, and never so long that what comes has to wait for a time that matters.
#include "agent/polling.h"

#include <gtest/gtest.h>

#include <vector>

namespace syncopate::agent {
namespace {

using board::kNever;
using Time = PollingPolicy::Time;

constexpr Time kMicrosecond = 1'000;
constexpr Time kMillisecond = 1'000 * kMicrosecond;
constexpr Time kSecond = 1'000 * kMillisecond;
/// A clock may have run for long when the agent begins.
constexpr Time kBegin = 1'000 * kSecond;

constexpr CpuBudget kFree{.ranks = 2, .cores = 4};
constexpr CpuBudget kOversubscribed{.ranks = 4, .cores = 4};  ///< With the agent's thread.
constexpr CpuBudget kCrowded{.ranks = 2, .cores = 4, .crowded = true};
constexpr CpuBudget kOneCore{.ranks = 1, .cores = 1};

bool awake(const PollingPolicy& rest, Time now, const CpuBudget& room) {
  return rest.awake(now, room, room.ranks + 1);
}

/// The naps of an agent to which something has happened at kBegin, and nothing since.
struct Sleeper {
  PollingPolicy rest;
  CpuBudget room = kFree;
  bool others_ring = false;
  Time now = kBegin;

  explicit Sleeper(CpuBudget where = kFree, bool ring = false, bool urgent = false)
      : room(where), others_ring(ring) {
    rest.note_news(now);
    rest.note_work(now, {.urgent = urgent});
  }
  Time nap(Time again_at = kNever) {
    const Time result = rest.nap(now, again_at, room, others_ring);
    now += result;
    return result;
  }
  std::vector<Time> naps(int count) {
    std::vector<Time> result;
    for (int i = 0; i < count; ++i) result.push_back(nap());
    return result;
  }
  /// How long it sleeps when nothing has happened for `silence`.
  Time nap_after(Time silence, Time again_at = kNever) {
    naps(20);
    now = kBegin + silence;
    return rest.nap(now, again_at, room, others_ring);
  }
};

const std::vector<Time> kGrowing{50 * kMicrosecond,  100 * kMicrosecond, 200 * kMicrosecond,
                                 400 * kMicrosecond, 500 * kMicrosecond, 500 * kMicrosecond};

TEST(CpuBudget, ALookTakesTimeOfTheOnlyRankWhereTheyHaveOneCore) {
  EXPECT_TRUE((CpuBudget{.ranks = 1, .cores = 1}).on_ranks_core());
  EXPECT_TRUE((CpuBudget{.ranks = 1, .cores = 2, .crowded = true}).on_ranks_core());
  EXPECT_FALSE((CpuBudget{.ranks = 1, .cores = 2}).on_ranks_core());
  EXPECT_FALSE((CpuBudget{.ranks = 2, .cores = 1, .crowded = true}).on_ranks_core());
}

TEST(Awake, OnFreeCoresForFiveMillisecondsAfterNews) {
  PollingPolicy rest;
  rest.note_news(kBegin);
  EXPECT_TRUE(awake(rest, kBegin, kFree));
  EXPECT_TRUE(awake(rest, kBegin + 5 * kMillisecond - 1, kFree));
  EXPECT_FALSE(awake(rest, kBegin + 5 * kMillisecond, kFree));
  rest.note_news(kBegin + kSecond);
  EXPECT_TRUE(awake(rest, kBegin + kSecond, kFree));
}

TEST(Awake, OrAfterSomebodyBeganToWaitWhicheverIsLater) {
  PollingPolicy rest;
  rest.note_news(kBegin);
  const Time later = kBegin + 100 * kMillisecond;
  rest.note_work(later, {.urgent = true});
  rest.note_work(later + 3 * kMillisecond, {.urgent = true});  // Goes on to wait.
  EXPECT_TRUE(awake(rest, later + 5 * kMillisecond - 1, kFree));
  EXPECT_FALSE(awake(rest, later + 5 * kMillisecond, kFree));
  rest.note_news(later + 8 * kMillisecond);
  EXPECT_TRUE(awake(rest, later + 12 * kMillisecond, kFree));
}

TEST(Awake, WhereThreadsOutnumberCoresBrieflyAndOnlyForWhoWaits) {
  PollingPolicy rest;
  rest.note_news(kBegin);
  EXPECT_FALSE(awake(rest, kBegin, kOversubscribed));
  rest.note_work(kBegin, {.urgent = true});
  EXPECT_TRUE(awake(rest, kBegin + 100 * kMicrosecond - 1, kOversubscribed));
  EXPECT_FALSE(awake(rest, kBegin + 100 * kMicrosecond, kOversubscribed));
  // A rank that does the agent's work makes it one thread fewer.
  EXPECT_TRUE(rest.awake(kBegin + kMillisecond, kOversubscribed, kOversubscribed.ranks));
}

TEST(Awake, NotWhereOthersNeedTheCore) {
  PollingPolicy rest;
  rest.note_news(kBegin);
  rest.note_work(kBegin, {.urgent = true});
  EXPECT_FALSE(awake(rest, kBegin, kCrowded));
}

TEST(Awake, WhileDataMoveWhoeverNeedsTheCore) {
  for (const CpuBudget& room : {kFree, kOversubscribed, kCrowded}) {
    PollingPolicy rest;
    rest.note_work(kBegin, {.moving = true, .moves = 1});
    EXPECT_TRUE(awake(rest, kBegin + 20 * kMillisecond - 1, room));
    EXPECT_FALSE(awake(rest, kBegin + 20 * kMillisecond, room));
    // They are on their way, but do not get on.
    rest.note_work(kBegin + 30 * kMillisecond, {.moving = true, .moves = 1});
    EXPECT_FALSE(awake(rest, kBegin + 30 * kMillisecond, room));
    rest.note_work(kBegin + 40 * kMillisecond, {.moving = true, .moves = 2});
    EXPECT_TRUE(awake(rest, kBegin + 59 * kMillisecond, room));
    // They have arrived.
    rest.note_work(kBegin + 50 * kMillisecond, {.moving = false, .moves = 3});
    EXPECT_FALSE(awake(rest, kBegin + 50 * kMillisecond, room));
  }
}

TEST(Urgent, SinceTheFirstOfTheLooksThatFoundItSo) {
  PollingPolicy rest;
  EXPECT_EQ(rest.urgent_since(), kNever);
  rest.note_work(kBegin, {.urgent = true});
  rest.note_work(kBegin + 1, {.urgent = true});
  EXPECT_EQ(rest.urgent_since(), kBegin);
  rest.note_work(kBegin + 2, {});
  EXPECT_EQ(rest.urgent_since(), kNever);
  rest.note_work(kBegin + 3, {.urgent = true});
  EXPECT_EQ(rest.urgent_since(), kBegin + 3);
}

TEST(Naps, GrowFromShortToLong) { EXPECT_EQ(Sleeper().naps(6), kGrowing); }

TEST(Naps, AreATwoHundredthOfTheSilenceUpToTwoMilliseconds) {
  EXPECT_EQ(Sleeper().nap_after(50 * kMillisecond), 500 * kMicrosecond);
  EXPECT_EQ(Sleeper().nap_after(100 * kMillisecond), 500 * kMicrosecond);
  EXPECT_EQ(Sleeper().nap_after(160 * kMillisecond), 800 * kMicrosecond);
  Sleeper sleeper;
  sleeper.nap_after(400 * kMillisecond);  // No nap is more than twice as long as the one before.
  EXPECT_EQ(sleeper.nap(), 2 * kMillisecond);
  EXPECT_EQ(sleeper.nap(), 2 * kMillisecond);
  EXPECT_EQ(sleeper.nap_after(kSecond), 2 * kMillisecond);
}

TEST(Naps, AreFourTimesAsLongWhereOthersRing) {
  const std::vector<Time> naps = Sleeper(kFree, true).naps(8);
  EXPECT_EQ(naps.front(), kGrowing.front());
  EXPECT_EQ(naps.back(), 2 * kMillisecond);
  Sleeper sleeper(kFree, true);
  sleeper.nap_after(kSecond);
  EXPECT_EQ(sleeper.nap_after(kSecond), 8 * kMillisecond);
}

TEST(Naps, ButNotWhileSomethingIsUnderWay) {
  Sleeper sleeper(kFree, true);
  sleeper.nap_after(kSecond);
  const Time now = kBegin + kSecond;
  EXPECT_EQ(sleeper.nap_after(kSecond, now), 2 * kMillisecond);
  EXPECT_EQ(sleeper.nap_after(kSecond, now - kSecond), 2 * kMillisecond);
  EXPECT_EQ(Sleeper(kFree, true).nap_after(50 * kMillisecond, kBegin), 500 * kMicrosecond);
}

TEST(Naps, EndWhenTheNextLookShouldBe) {
  Sleeper sleeper;
  EXPECT_EQ(sleeper.nap(sleeper.now + 30 * kMicrosecond), 30 * kMicrosecond);
  // Which says nothing of the one after.
  EXPECT_EQ(sleeper.nap(sleeper.now + kMillisecond), 100 * kMicrosecond);
  // What should be at once can wait for a nap.
  EXPECT_EQ(sleeper.nap(sleeper.now), 200 * kMicrosecond);
}

TEST(Naps, BeginAnewWithNews) {
  Sleeper sleeper;
  sleeper.naps(10);
  sleeper.rest.note_news(sleeper.now);
  EXPECT_EQ(sleeper.naps(6), kGrowing);
}

TEST(Naps, BeginAnewAfterALookWithoutSleep) {
  Sleeper sleeper;
  sleeper.naps(10);
  sleeper.rest.note_awake();
  EXPECT_EQ(sleeper.naps(6), kGrowing);
}

TEST(Naps, AreShortAfterARingWhichIsNoNews) {
  for (const CpuBudget& room : {kFree, kCrowded}) {
    Sleeper sleeper(room);
    sleeper.nap_after(kSecond);
    sleeper.rest.note_ring();
    EXPECT_EQ(sleeper.rest.active_at(), kBegin);
    EXPECT_EQ(sleeper.nap(), 50 * kMicrosecond);
    for (int i = 0; i < 10; ++i) sleeper.nap();
    EXPECT_EQ(sleeper.nap(), 2 * kMillisecond);  // For so long there has been no news.
  }
}

TEST(Naps, AreLongAtOnceWhereOthersNeedTheCore) {
  const std::vector<Time> long_ones{500 * kMicrosecond, 500 * kMicrosecond};
  EXPECT_EQ(Sleeper(kCrowded).naps(2), long_ones);
  EXPECT_EQ(Sleeper(kOneCore).naps(2), long_ones);
  EXPECT_EQ(Sleeper(kOversubscribed).naps(6), kGrowing);
  // They grow from there where others ring.
  EXPECT_EQ(Sleeper(kCrowded, true).naps(3),
            (std::vector<Time>{kMillisecond, 2 * kMillisecond, 2 * kMillisecond}));
}

TEST(Naps, ButNotIfSomebodyWaits) {
  EXPECT_EQ(Sleeper(kCrowded, false, true).naps(6), kGrowing);
  EXPECT_EQ(Sleeper(kOneCore, false, true).naps(6), kGrowing);
}

TEST(Naps, OfTheFirstLookAreShort) {
  PollingPolicy rest;  // Nothing has ever happened.
  EXPECT_EQ(rest.nap(kBegin, kNever, kFree, true), 100 * kMicrosecond);
}

TEST(WhileARankDoesTheWork, TheAgentAsksNowAndThenAndSeldomOnTheRanksCore) {
  EXPECT_EQ(PollingPolicy::while_driven(kFree), 100 * kMicrosecond);
  EXPECT_EQ(PollingPolicy::while_driven(kCrowded), 100 * kMicrosecond);
  EXPECT_EQ(PollingPolicy::while_driven(kOneCore), 500 * kMicrosecond);
}

TEST(PollingPolicy, UnderWatchSleepsUntilItIsTime) {
  PollingPolicy rest;
  rest.note_news(kBegin);
  EXPECT_EQ(rest.nap_under_watch(kBegin, kBegin + 7 * kMillisecond), 7 * kMillisecond);
  EXPECT_EQ(rest.nap_under_watch(kBegin, kNever), 100 * kMillisecond);
}

TEST(PollingPolicy, UnderWatchLooksSeldomAfterWhatIsUnderWay) {
  PollingPolicy rest;
  Time now = kBegin;
  rest.note_news(now);
  std::vector<Time> naps;
  for (int i = 0; i < 6; ++i) {
    naps.push_back(rest.nap_under_watch(now, now));
    now += naps.back();
  }
  EXPECT_EQ(naps.front(), 50 * kMicrosecond);
  EXPECT_EQ(naps.back(), PollingPolicy::kUnderWatch);
  // Nothing has happened for a minute: then a look ten times a second does.
  now = kBegin + 60 * kSecond;
  for (int i = 0; i < 10; ++i) now += rest.nap_under_watch(now, now);
  EXPECT_EQ(rest.nap_under_watch(now, now), 100 * kMillisecond);
  // With news it begins again.
  rest.note_news(now);
  EXPECT_EQ(rest.nap_under_watch(now, now), 50 * kMicrosecond);
}

}  // namespace
}  // namespace syncopate::agent

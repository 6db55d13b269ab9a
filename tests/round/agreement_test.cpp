// What one machine's agreement makes of what it hears and sees. Whether it holds together under any
// schedule is asked by the explorer (tests/explorer/machines_play.h).
#include "round/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/bad_message.h"

namespace syncopate::round {
namespace {

using namespace std::chrono_literals;
using Kind = Message::Kind;

/// Of a machine of one rank.
Facts facts(bool here, std::uint64_t seen = 0) {
  Facts result{.here = RankSet(1), .counting = RankSet(1), .waits = here, .seen = seen};
  result.counting.insert(0);
  if (here) result.here.insert(0);
  return result;
}

bool starts(Agreement& agreement) {
  return std::ranges::any_of(agreement.take_messages(), [](const Agreement::Outgoing& one) {
    return one.message.kind == Kind::start;
  });
}

/// Messages may come before the board was looked at for the first time.
TEST(Agreement, KeepsARoundOpenThoughItHearsOfItBeforeItLooks) {
  constexpr Duration kGrace = 300ms;
  Agreement agreement(first(), 8, {0, 1}, 1);
  agreement.hear(0, {.kind = Kind::facts, .round = 1, .facts = facts(/*here=*/true)}, 0);
  EXPECT_FALSE(agreement.started() || starts(agreement)) << "the grace is not over";
  agreement.observe(facts(/*here=*/false), kGrace, 10);
  EXPECT_FALSE(agreement.started() || starts(agreement)) << "the grace is not over";
  agreement.observe(facts(/*here=*/false), kGrace, 10 + kGrace.count());
  EXPECT_TRUE(agreement.started() && starts(agreement));
}

TEST(Agreement, CountsGraceFromTheFirstArrivalThoughNoRankWaitsYet) {
  constexpr Duration kGrace = 300ms;
  Agreement agreement(first(), 8, {0, 1}, 1);
  Facts deposit = facts(/*here=*/true);
  deposit.waits = false;
  agreement.observe(deposit, kGrace, 10);
  agreement.observe(deposit, kGrace, 10 + kGrace.count());
  EXPECT_FALSE(agreement.started() || starts(agreement)) << "no rank waits";
  agreement.observe(facts(/*here=*/true), kGrace, 11 + kGrace.count());
  EXPECT_TRUE(agreement.started() && starts(agreement)) << "as on one board";
}

TEST(Agreement, TakesPartInARoundThatItHearsOfBeforeItLooks) {
  Agreement agreement(first(), 8, {0, 1, 2, 3}, 1);
  agreement.hear(0, {.kind = Kind::start, .round = 1, .span = 2, .root = 0}, 0);
  EXPECT_TRUE(agreement.started());
  EXPECT_TRUE(starts(agreement)) << "the next machine hears of it from this one";
}

TEST(Agreement, IsNotStartedByOthersOutsideTheWindow) {
  Agreement agreement(first(), 1, {0, 1}, 1, /*rounds_before=*/4);
  std::vector<Facts> lag(2, facts(/*here=*/false, 4));
  agreement.hear(0, {.kind = Kind::start, .round = 5, .span = 1, .root = 0}, 0);
  agreement.complete(lag, 0);
  EXPECT_THROW(agreement.hear(0, {.kind = Kind::start, .round = 6, .span = 1, .root = 0}, 0),
               BadMessage);
  EXPECT_FALSE(agreement.started());
}

}  // namespace
}  // namespace syncopate::round

// Notes travel with a rank's work: whatever the timing, each arrives in one exchange, on every
// rank in the same one. Under m-sync the notes of dropped work are dropped with it.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <tuple>

#include "strategy/learner.h"
#include "strategy/names.h"
#include "strategy/play.h"
#include "support/crew.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNotes = 3;

struct Tally {
  std::vector<std::vector<long>> told;  ///< The sums of each agreed exchange, as whole numbers.
  std::vector<long> given = std::vector<long>(kNotes);
  std::vector<long> received = std::vector<long>(kNotes);
  long dropped = 0;
};

Tally train(World& world, const std::string& strategy, int steps) {
  const int rank = world.rank();
  std::minstd_rand random(unsigned(rank + 1));
  Tally tally;
  VectorLearner learner(Vector(5, 1.0F));
  learner.on_exchange = [&](const VectorLearner::Told& told) {
    tally.dropped += long(told.exchange.dropped);
    if (!told.exchange.agreed) {
      EXPECT_TRUE(told.notes.empty()) << "no rank can count on them yet";
      return;
    }
    ASSERT_EQ(told.notes.size(), kNotes);
    tally.told.emplace_back();
    for (std::size_t i = 0; i < kNotes; ++i) {
      // Divided and multiplied on the way, but never so that a count could be mistaken.
      const long whole = std::lround(told.notes[i]);
      EXPECT_NEAR(told.notes[i], float(whole), 0.01F);
      tally.told.back().push_back(whole);
      tally.received[i] += whole;
    }
  };
  const auto made = make_strategy(strategy, {.world = world, .learner = learner, .notes = kNotes});
  EXPECT_EQ(made->notes().size(), kNotes);
  for (int step = 0; step < steps; ++step) {
    dawdle(int(random() % 4), unsigned(random()));
    take_step(
        *made, learner,
        [&](auto, std::span<float> gradient) {
          std::ranges::fill(gradient, 0.5F);
          // One for each step, a vote now and then, and a number of samples.
          const long fresh[kNotes] = {1, random() % 5 == 0 ? 1 : 0, long(random() % 1024)};
          for (std::size_t i = 0; i < kNotes; ++i) {
            made->notes()[i] = float(fresh[i]);
            tally.given[i] += fresh[i];
          }
        },
        rank == 0 ? 3ms : 1ms);
  }
  made->finish();
  return tally;
}

class Notes : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Notes, ArriveExactlyOnceAndInTheSameExchangeOnEveryRank) {
  const auto [strategy, ranks] = GetParam();
  std::vector<Tally> tallies(ranks);
  with_ranks(ranks, [&, strategy = strategy](World& world) {
    tallies[world.rank()] = train(world, strategy, 203 / kThrift);
  });
  std::vector<long> given(kNotes);
  for (const Tally& tally : tallies) {
    for (std::size_t i = 0; i < kNotes; ++i) given[i] += tally.given[i];
  }
  for (const Tally& tally : tallies) {
    EXPECT_EQ(tally.told, tallies[0].told);
    EXPECT_EQ(tally.received[0] + tally.dropped, given[0]);
    if (tally.dropped == 0) {
      EXPECT_EQ(tally.received, given);
    }
    EXPECT_TRUE(tally.dropped == 0 || std::string(strategy).starts_with("m-sync"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Notes,
    ::testing::Combine(::testing::Values("sync", "eager-solo", "eager-solo:anticipate=off",
                                         "eager-majority", "eager-quorum:1", "m-sync:1",
                                         "dropcompute:1s", "wagma:1:7", "wagma", "local:4",
                                         "post-local:9:4", "biased-local:5",
                                         "biased-local:5:alpha=0"),
                       ::testing::Values(1, 2, 3, 8)),
    name_by_both);

}  // namespace
}  // namespace syncopate::testing

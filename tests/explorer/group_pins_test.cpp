// Slots that stopped ranks read: three ranks that are ahead stop in the middle of a round, each
// with another of rank 0's publications. Then rank 0 has no slot left to go on with, unless it
// finishes their rounds without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "explorer/random.h"
#include "explorer/schedulers.h"
#include "group/exchange.h"
#include "support/stage.h"
#include "syncopate/error.h"

namespace syncopate::testing {
namespace {

using group::Exchange;

constexpr Time kMillisecond = 1'000'000;
constexpr Time kStop = 10'000 * kMillisecond;
const Duration kTimeout = std::chrono::hours(1);

/// Eight ranks in pairs: rank 0 meets ranks 1, 2 and 4 in turn. Each of those runs ahead to its
/// second step with rank 0 and stops there.
class Pins final : private Machine::Observer {
 public:
  static constexpr int kRanks = 8;
  static constexpr std::size_t kElements = 3;

  /// When rank 0 was through, on the machine's clock. It waits no longer than `timeout`, once.
  Time play(Step stop_at, Duration timeout = kTimeout) {
    stop_at_ = stop_at;
    timeout_of_rank_0_ = timeout;
    const GroupOptions options{.group_size = 2, .synchronize_every = 0, .window = 8};
    stage_.set(kRanks);
    const std::vector<double> initial(kElements, 0);
    const auto shape = group::Shape::of(kElements, DataType::float64, kRanks, options);
    exchanges_ = stage_.make<Exchange>(shape.bytes(), [&](int rank, std::byte* memory) {
      return std::make_unique<Exchange>(stage_.roster(rank), stage_.platform(rank),
                                        rank == 0 ? timeout_of_rank_0_ : kTimeout, memory, shape,
                                        initial.data(), options);
    });
    stage_.machine().observe(this);
    stage_.machine().limit_steps(1'000'000);
    Random random(1);
    RandomWalk scheduler(random, 1000);
    const auto outcome = stage_.machine().run(kRanks, scheduler, [this](int rank) { act(rank); });
    EXPECT_EQ(outcome, Machine::Outcome::finished);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(stage_.machine().error(rank), nullptr) << "rank " << rank;
    }
    exchanges_.clear();
    return through_;
  }
  int stopped() const { return stopped_; }
  /// What rank 0 said when its time was up.
  const std::string& complaint() const { return complaint_; }

 private:
  void look(int rank, Step at) override {
    const bool meets_rank_0_again = (rank == 1 && step_[1] == 4) || (rank == 2 && step_[2] == 5) ||
                                    (rank == 4 && step_[4] == 6);
    if (!meets_rank_0_again || at != stop_at_ || was_stopped_[rank]) return;
    was_stopped_[rank] = true;
    ++stopped_;
    turn_ = turn_ + 1;
    stage_.machine().stop(rank, kStop);
  }

  void await_turn(int turn) {
    Machine& machine = stage_.machine();
    while (turn_ < turn) machine.sleep_until(machine.now() + kMillisecond);
  }

  void average(int rank) {
    ++step_[rank];
    auto* weights = static_cast<double*>(exchanges_[rank]->weights());
    std::fill_n(weights, kElements, step_[rank]);
    exchanges_[rank]->publish();
    try {
      exchanges_[rank]->finish(nullptr);
    } catch (const Error& error) {
      complaint_ = error.what();
      timeout_of_rank_0_ = kTimeout;
      exchanges_[rank]->finish(nullptr);
    }
  }

  void act(int rank) {
    if (rank == 0) {
      for (int step = 1; step <= 3; ++step) {
        await_turn(2 * step - 1);
        average(0);
        ++turn_;
      }
      through_ = stage_.machine().now();
      return exchanges_[0]->leave();
    }
    const int ahead = rank == 1 ? 4 : rank == 2 ? 5 : rank == 4 ? 6 : 0;
    await_turn(ahead > 0 ? 2 * (ahead - 4) : 0);
    for (int step = 1; step <= ahead; ++step) average(rank);
    if (ahead == 0) await_turn(6);
    exchanges_[rank]->leave();
  }

  Stage stage_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  Step stop_at_ = Step::reduce;
  std::array<int, kRanks> step_{};
  std::array<bool, kRanks> was_stopped_{};
  int turn_ = 0;
  int stopped_ = 0;
  Time through_ = 0;
  Duration timeout_of_rank_0_{0};
  std::string complaint_;
};

TEST(PinnedSlots, DoNotMakeTheirOwnerWaitForStoppedRanks) {
  for (const Step step : {Step::decide, Step::claim, Step::reduce, Step::done, Step::publish}) {
    SCOPED_TRACE(to_string(step));
    Pins pins;
    const Time through = pins.play(step);
    EXPECT_EQ(pins.stopped(), 3) << "the case tests nothing";
    EXPECT_LT(through, kStop / 10) << "rank 0 waited for those who were stopped";
    EXPECT_EQ(pins.complaint(), "");
  }
}

TEST(PinnedSlots, AreBlamedOnTheRanksThatReadThemIfTimeIsUpFirst) {
  Pins pins;
  pins.play(Step::reduce, Duration(board::kPatience / 2));
  EXPECT_EQ(pins.stopped(), 3) << "the case tests nothing";
  EXPECT_NE(pins.complaint().find("for rank 1 (stopped), rank 2 (stopped), rank 4 (stopped) in"),
            std::string::npos)
      << pins.complaint();
}

}  // namespace
}  // namespace syncopate::testing

// A stopped rank that the others do have to wait for is named when their time is up, and nothing
// is lost when it goes on.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "support/common.h"
#include "support/processes.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr Duration kShort = 100ms;
constexpr Duration kLong = 15s;

struct Book {
  std::atomic<bool> stopping;
  std::atomic<bool> awake;
};

/// Runs `body` on two ranks. Rank 1 stops itself where `body` calls stop_here(); it goes on when
/// rank 0 has printed "waited".
class StoppedRank {
 public:
  void run(const std::function<void(World&, StoppedRank&)>& body) {
    Processes processes(2, [&](int) {
      World world = World::from_environment();
      world.set_timeout(kLong);
      body(world, *this);
    });
    processes.on_line = [&](int, const std::string& line) {
      if (line == "waited") processes.send(1, SIGCONT);
    };
    const std::vector<Ending> endings = processes.wait(30s);
    for (const Ending& ending : endings) {
      EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
    }
  }

  void stop_here() {
    book_->stopping = true;
    kill(getpid(), SIGSTOP);
    book_->awake = true;
  }

  /// Calls `wait` until it throws, which must be because of rank 1, and lets rank 1 go on.
  void time_out(World& world, const std::function<void()>& wait) {
    while (!book_->stopping) sched_yield();
    world.set_timeout(kShort);
    try {
      for (;;) wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 1 (pid"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("stopped"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(book_->awake);
    EXPECT_TRUE(world.dead().empty()) << "a stopped rank is not dead";
    world.set_timeout(kLong);
    std::puts("waited");
    std::fflush(stdout);
  }

 private:
  Common<Book> book_;
};

const std::vector<float> kOne{1.0F};

/// Sums what the rounds bring.
struct Total {
  double sum = 0;
  std::uint64_t rounds = 0;
  void operator()(const Round<float>& round) {
    EXPECT_EQ(round.number(), ++rounds);
    sum += round.sum()[0];
  }
  void operator()(const Rounds<float>& rounds_now) {
    for (const auto& round : rounds_now) (*this)(round);
  }
};

TEST(Timeout, NamesAStoppedRankThatEveryoneWaitsFor) {
  StoppedRank().run([](World& world, StoppedRank& stopped) {
    PartialAllreduce<float> rounds(world, 1, {.trigger = all(), .scale = Scale::none});
    Total total;
    total(rounds.exchange(kOne));
    if (world.rank() == 1) {
      stopped.stop_here();
      total(rounds.exchange(kOne));
    } else {
      rounds.start(kOne);
      stopped.time_out(world, [&] { total(rounds.wait()); });
      total(rounds.wait());
    }
    rounds.finish(std::ref(total));
    EXPECT_EQ(total.sum, 4);
  });
}

TEST(Timeout, NamesAStoppedRankThatLagsBehindByMoreThanTheWindow) {
  constexpr int kWindow = 3;
  StoppedRank().run([](World& world, StoppedRank& stopped) {
    PartialAllreduce<float> rounds(world, 1,
                                   {.trigger = first(), .scale = Scale::none, .window = kWindow});
    Total total;
    if (world.rank() == 1) {
      stopped.stop_here();
      const Rounds<float> missed = rounds.exchange(kOne);
      EXPECT_EQ(missed.size(), static_cast<std::size_t>(kWindow));
      total(missed);
    } else {
      stopped.time_out(world, [&] { total(rounds.exchange(kOne)); });
      EXPECT_EQ(total.rounds, static_cast<std::uint64_t>(kWindow));
      total(rounds.wait());
    }
    rounds.finish(std::ref(total));
    // Rank 0 made a deposit per round of the window and one more; rank 1 made one.
    EXPECT_EQ(total.sum, kWindow + 2);
  });
}

TEST(Timeout, NamesAStoppedRankThatHasNoMoreDataAndLagsBehind) {
  constexpr int kWindow = 2;
  StoppedRank().run([](World& world, StoppedRank& stopped) {
    PartialAllreduce<float> rounds(world, 1,
                                   {.trigger = first(), .scale = Scale::none, .window = kWindow});
    Total total;
    if (world.rank() == 1) {
      rounds.finish([&](const Round<float>& round) {
        if (round.number() == 1) stopped.stop_here();
        total(round);
      });
    } else {
      total(rounds.exchange(kOne));
      stopped.time_out(world, [&] { total(rounds.exchange(kOne)); });
      total(rounds.wait());
      rounds.finish(std::ref(total));
    }
  });
}

TEST(Timeout, NamesTheDrawnRankThatIsStopped) {
  StoppedRank().run([](World& world, StoppedRank& stopped) {
    PartialAllreduce<float> rounds(world, 1, {.trigger = majority(), .scale = Scale::none});
    Total total;
    if (world.rank() == 1) {
      stopped.stop_here();
    } else {
      // Rounds for which rank 0 is drawn go on meanwhile.
      stopped.time_out(world, [&] { total(rounds.exchange(kOne)); });
    }
    total(rounds.exchange(kOne));
    rounds.finish(std::ref(total));
  });
}

TEST(Timeout, NamesAStoppedRankInABarrierThatCanBeTriedAgain) {
  StoppedRank().run([](World& world, StoppedRank& stopped) {
    world.barrier();
    if (world.rank() == 1) {
      stopped.stop_here();
    } else {
      stopped.time_out(world, [&] { world.barrier(); });
    }
    world.barrier();
    Allreduce<float> sum(world, 1);
    EXPECT_EQ(sum.exchange(kOne).front().sum()[0], 2.0F) << "all are in step again";
    world.barrier();
  });
}

TEST(Timeout, NamesARankThatDoesNotMakeTheCollectiveWhichCanBeTriedAgain) {
  StoppedRank().run([](World& world, StoppedRank& stopped) {
    const auto make = [&] {
      return PartialAllreduce<float>(world, 1, {.trigger = all(), .scale = Scale::none});
    };
    if (world.rank() == 1) {
      stopped.stop_here();
    } else {
      stopped.time_out(world, [&] { make(); });
    }
    auto rounds = make();
    EXPECT_EQ(rounds.exchange(kOne).front().sum()[0], 2.0F);
  });
}

TEST(Timeout, NamesARankThatNeverJoined) {
  Processes processes(2, [&](int rank) {
    if (rank == 1) {
      pause();  // Until the test's end.
    }
    World world = World::from_environment();
    world.set_timeout(kShort);
    try {
      world.barrier();
      ADD_FAILURE() << "passed a barrier alone";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout);
      EXPECT_NE(std::string(error.what()).find("rank 1 (has not joined)"), std::string::npos)
          << error.what();
    }
  });
  processes.on_end = [&](int rank) {
    if (rank == 0) processes.send(1, SIGTERM);
  };
  const std::vector<Ending> endings = processes.wait(30s);
  EXPECT_EQ(endings[0].code, 0) << endings[0].said;
}

}  // namespace
}  // namespace syncopate::testing

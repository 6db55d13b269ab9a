// A child that a rank forks is not the rank: whatever it calls is refused and changes nothing on
// the board, and what it takes down when it ends stays as it is for its parent.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/every_call.h"
#include "support/processes.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

/// In the middle of using all that it has.
struct Rank : RankWithAll {
  explicit Rank(World joined) : RankWithAll(std::move(joined), {.group_size = 1}) {}
};

std::vector<Call> calls() {
  std::vector<Call> all = every_call();
  using Any = RankWithAll;
  all.insert(all.end(),
             {{"exchange of the slot", [](Any& rank) { rank.rounds.exchange().pass(); }},
              {"average of a buffer", [](Any& rank) { rank.weights.average(std::span(rank.one)); }},
              {"wait for an average", [](Any& rank) { rank.weights.wait(); }}});
  return all;
}

void expect_all_refused(Rank& rank) {
  for (const Call& call : calls()) {
    SCOPED_TRACE(call.name);
    expect_refused(ErrorCode::closed, {"a fork of rank"}, [&] { call.make(rank); });
  }
}

/// Every byte of this process's board that was ever written.
std::string board_contents() {
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const std::string target = std::filesystem::read_symlink(entry, none);
    if (target.find("memfd:syncopate-board") != std::string::npos) path = entry.path();
  }
  std::string contents;
  std::FILE* file = std::fopen(path.c_str(), "r");
  EXPECT_NE(file, nullptr) << "no board";
  if (file == nullptr) return contents;
  const int descriptor = fileno(file);
  for (off_t begin = 0; (begin = lseek(descriptor, begin, SEEK_DATA)) >= 0;) {
    const off_t end = lseek(descriptor, begin, SEEK_HOLE);
    contents += std::to_string(begin) + ":";
    std::string bytes(static_cast<std::size_t>(end - begin), '\0');
    EXPECT_EQ(pread(descriptor, bytes.data(), bytes.size(), begin), ssize_t(bytes.size()));
    contents += bytes;
    begin = end;
  }
  std::fclose(file);
  return contents;
}

/// The system call itself, which runs no handlers.
pid_t clone_alone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

/// Runs `body` in a child and expects it to end well.
void in_child(const std::function<void()>& body, pid_t (*make)() = fork) {
  std::fflush(nullptr);
  const pid_t child = make();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int code = 0;
    try {
      body();
    } catch (const std::exception& error) {
      std::printf("in the child: %s\n", error.what());
      code = 1;
    }
    if (::testing::Test::HasFailure()) code = 1;
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0) << "the child said more";
}

void expect_all_well(Processes& processes) {
  for (const Ending& ending : processes.wait(60s)) {
    EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
  }
}

TEST(ForkedChild, IsRefusedByEveryCallAndChangesNothing) {
  Processes processes(1, [](int) {
    Rank rank(World::from_environment());
    rank.rounds.exchange(rank.one).pass();
    rank.rounds.start(rank.one);
    rank.weights.average();
    const std::string before = board_contents();
    EXPECT_GT(before.size(), 1000U);
    for (pid_t (*make)() : {static_cast<pid_t (*)()>(fork), clone_alone}) {
      in_child([&] { expect_all_refused(rank); }, make);
      EXPECT_EQ(board_contents(), before);
    }
    // A fork of a fork is no rank either, whatever it has made itself.
    in_child([&] {
      World::threads(1)[0].barrier();
      in_child([&] { expect_all_refused(rank); });
      expect_all_refused(rank);
    });
    EXPECT_TRUE(board_contents() == before);
    EXPECT_EQ(rank.rounds.wait().front().sum()[0], 1.0F);
  });
  expect_all_well(processes);
}

TEST(ForkedChild, TakesNothingDownThatIsItsParents) {
  Processes processes(1, [](int) {
    std::optional<Rank> rank(World::from_environment());
    for (float expected = 1; expected <= 3; ++expected) {
      bool in_the_loop = false;
      for (const auto& round : rank->rounds.exchange(std::vector<float>{expected})) {
        const std::string before = board_contents();
        in_child([&] {
          // Leaves the loop by the next round, and by an exception; both are the parent's.
          expect_refused(ErrorCode::closed, {"a fork of rank"}, [&] {
            for (const auto& again : rank->rounds.wait()) EXPECT_EQ(again.number(), 0U);
          });
          rank.reset();
        });
        EXPECT_TRUE(board_contents() == before);
        EXPECT_EQ(round.sum()[0], expected);
        in_the_loop = true;
      }
      EXPECT_TRUE(in_the_loop);
    }
    const std::string before = board_contents();
    {
      Rounds<float> rounds = rank->rounds.exchange(rank->one);
      EXPECT_EQ(rounds.front().sum()[0], 1.0F);
      const std::string inside = board_contents();
      in_child([&] { Rounds<float> taken = std::move(rounds); });
      EXPECT_TRUE(board_contents() == inside);
    }
    EXPECT_FALSE(board_contents() == before) << "a round is seen there";
  });
  expect_all_well(processes);
}

TEST(ForkedChild, CannotAddToTheSumOfTheOthers) {
  Processes processes(3, [](int) {
    Rank rank(World::from_environment());
    double total = 0;
    const auto add = [&](const Round<float>& round) { total += round.sum()[0]; };
    for (int step = 0; step < 6; ++step) {
      in_child([&] {
        expect_refused(ErrorCode::closed, {"a fork of rank"},
                       [&] { rank.rounds.exchange(std::vector<float>{1000}).pass(); });
      });
      for (const auto& round : rank.rounds.exchange(rank.one)) add(round);
    }
    rank.rounds.finish(add);
    EXPECT_EQ(total, 18);
  });
  expect_all_well(processes);
}

TEST(ForkedChild, MayHaveAWorldOfItsOwn) {
  Processes processes(1, [](int) {
    Rank rank(World::from_environment());
    in_child([] {
      unsetenv("SYNCOPATE_RANK");
      unsetenv("SYNCOPATE_RANKS");
      unsetenv("SYNCOPATE_BOARD");
      Rank own(World::from_environment());
      EXPECT_EQ(own.rounds.exchange(own.one).front().sum()[0], 1.0F);
      in_child([&] { expect_all_refused(own); });
      own.world.barrier();
    });
    EXPECT_EQ(rank.rounds.exchange(rank.one).front().sum()[0], 1.0F);
  });
  expect_all_well(processes);
}

// In a process of its own: it has other threads, and the tests after it fork.
TEST(ForkedChild, OfRanksThatAreThreadsIsRefusedToo) {
  in_child([] {
    on_threads(3, [](World& world) {
      Rank rank(world);
      for (int step = 0; step < 3; ++step) {
        if (world.rank() == step) in_child([&] { expect_all_refused(rank); });
        EXPECT_EQ(rank.rounds.exchange(rank.one).front().sum()[0], 3.0F);
      }
      if (world.rank() == 1) {
        in_child([&] { std::optional<Rank>(std::move(rank)).reset(); });
      }
      EXPECT_EQ(rank.rounds.exchange(rank.one).front().sum()[0], 3.0F);
      EXPECT_TRUE(world.dead().empty());
    });
  });
}

}  // namespace
}  // namespace syncopate::testing

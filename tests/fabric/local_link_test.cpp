// Ranks that torchrun has started on one machine: its variables are set here as it sets them.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "process/program.h"

namespace syncopate::testing {
namespace {

/// What torchrun tells a rank; the port is of this process, so that tests can run side by side.
struct Start {
  int rank = 0;
  int ranks = 2;
  int ranks_here = 0;  ///< 0: all.
  std::string run = "none";
  int restart = 0;
  int port = 10000 + int(getpid() % 20000);
  int timeout = 30;
};

std::unique_ptr<Program> rank_of(const Start& start) {
  const auto variable = [](const char* name, const auto& value) {
    return std::string(name) + "=" + value;
  };
  const auto number = [&](const char* name, int value) {
    return variable(name, std::to_string(value));
  };
  return std::make_unique<Program>(std::vector<std::string>{
      "/usr/bin/env", number("RANK", start.rank), number("LOCAL_RANK", start.rank),
      number("WORLD_SIZE", start.ranks),
      number("LOCAL_WORLD_SIZE", start.ranks_here > 0 ? start.ranks_here : start.ranks),
      variable("MASTER_ADDR", "localhost"), number("MASTER_PORT", start.port),
      variable("TORCHELASTIC_RUN_ID", start.run),
      number("TORCHELASTIC_RESTART_COUNT", start.restart),
      number("SYNCOPATE_TIMEOUT", start.timeout), SYNCOPATE_PROBE_PATH, "world"});
}

using Programs = std::vector<std::unique_ptr<Program>>;

/// The first rank last, as may happen.
Programs job_of(Start start) {
  Programs ranks;
  for (start.rank = start.ranks - 1; start.rank >= 0; --start.rank) {
    ranks.push_back(rank_of(start));
  }
  return ranks;
}

void expect_complete(const Programs& job) {
  const int ranks = int(job.size());
  for (int i = 0; i < ranks; ++i) {
    EXPECT_EQ(job[i]->wait(), 0) << job[i]->out();
    EXPECT_EQ(job[i]->out(), "rank " + std::to_string(ranks - 1 - i) + " of " +
                                 std::to_string(ranks) + ": " +
                                 std::to_string(ranks * (ranks + 1) / 2) + "\n");
  }
}

void expect_refused(Program& rank, const std::string& words) {
  EXPECT_EQ(rank.wait(), 1);
  EXPECT_NE(rank.out().find(words), std::string::npos) << rank.out();
}

TEST(LocalLink, RanksOfOneMachineMeet) {
  for (const int ranks : {1, 2, 5}) expect_complete(job_of({.ranks = ranks}));
}

TEST(LocalLink, TwoJobsAtOnceDoNotMix) {
  const Programs one = job_of({.ranks = 2, .run = "one"});
  const Programs other = job_of({.ranks = 3, .run = "other"});
  Start elsewhere{.ranks = 4, .run = "one"};
  ++elsewhere.port;
  expect_complete(job_of(elsewhere));
  expect_complete(other);
  expect_complete(one);
}

TEST(LocalLink, ALongNameOfAJobWillDo) {
  expect_complete(job_of({.ranks = 2, .run = std::string(500, 'x') + "1"}));
}

TEST(LocalLink, ARankThatNeverComesIsNamed) {
  const auto first = rank_of({.rank = 0, .ranks = 4, .timeout = 2});
  const auto second = rank_of({.rank = 1, .ranks = 4, .timeout = 20});
  expect_refused(*first, "timeout: rank 0 waited in vain for rank 2 and 3 to come to syncopate/");
  expect_refused(*second, "environment: rank 0 turned rank 1 away");
}

TEST(LocalLink, AFirstRankThatNeverComesIsNamed) {
  expect_refused(*rank_of({.rank = 1, .timeout = 1}), "timeout: rank 1 waited in vain for rank 0");
}

TEST(LocalLink, ARestartDoesNotMeetWhatWasThereBefore) {
  const auto left_over = rank_of({.rank = 0, .ranks = 2, .restart = 0});
  const auto other_left_over = rank_of({.rank = 1, .ranks = 3, .restart = 1});
  expect_complete(job_of({.ranks = 2, .restart = 2}));
  left_over->send(SIGKILL);
  other_left_over->send(SIGKILL);
  EXPECT_EQ(left_over->wait(), -SIGKILL);
  EXPECT_EQ(other_left_over->wait(), -SIGKILL);
}

TEST(LocalLink, ARankThatIsThereAlreadyIsTurnedAway) {
  const auto one = rank_of({.rank = 1, .ranks = 3});
  const auto first = rank_of({.rank = 0, .ranks = 3});
  const auto twin = rank_of({.rank = 1, .ranks = 3});
  // Whichever of the two came second ends; then the job is still not complete.
  while (!one->ended() && !twin->ended()) usleep(1000);
  expect_refused(one->ended() ? *one : *twin, "turned rank 1 away");
  const auto last = rank_of({.rank = 2, .ranks = 3});
  EXPECT_EQ(first->wait(), 0) << first->out();
  EXPECT_EQ(last->wait(), 0) << last->out();
}

TEST(LocalLink, RanksOfSeveralMachinesMeetOverTcp) {
  const Start start{.rank = 1, .ranks = 6, .ranks_here = 2, .timeout = 1};
  expect_refused(*rank_of(start), "timeout: rank 1 waited in vain for rank 0 at localhost:" +
                                      std::to_string(start.port + 1));
}

TEST(LocalLink, AnotherUserAtTheMeetingPointIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const Start start{.rank = 1, .run = "squatted"};
  const std::string name = "syncopate/0/" + std::to_string(start.port) + "/0/squatted";
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t squatter = fork();
  if (squatter == 0) {
    sockaddr_un address{.sun_family = AF_UNIX};
    name.copy(address.sun_path + 1, name.size());
    const auto length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const bool ready = setuid(65534) == 0 &&
                       bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                       listen(listener, 1) == 0;
    if (!ready || write(pipe_ends[1], "!", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  expect_refused(*rank_of(start), "environment: another user listens at " + name);
  kill(squatter, SIGKILL);
  waitpid(squatter, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

/// As what rank 1 says when it comes; whether rank 0 keeps the connection, in the eyes of a user.
bool is_let_in(uid_t user, const std::string& name, int ranks) {
  const pid_t stranger = fork();
  if (stranger == 0) {
    sockaddr_un address{.sun_family = AF_UNIX};
    name.copy(address.sun_path + 1, name.size());
    const auto length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int mine = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (setuid(user) != 0) _exit(2);
    while (connect(mine, reinterpret_cast<sockaddr*>(&address), length) != 0) usleep(1000);
    const struct {
      std::uint32_t magic = 0x53594e43;
      std::int32_t rank = 1, ranks = 0;
    } greeting{.ranks = ranks};
    send(mine, &greeting, sizeof greeting, MSG_NOSIGNAL);
    char byte = 0;
    _exit(recv(mine, &byte, 1, 0) > 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(stranger, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(LocalLink, AnotherUserGetsNoSeat) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const std::string place = "syncopate/0/" + std::to_string(Start().port) + "/0/";
  {
    const auto first = rank_of({.rank = 0, .run = "strangers"});
    EXPECT_FALSE(is_let_in(65534, place + "strangers", 2));
    const auto second = rank_of({.rank = 1, .run = "strangers"});
    EXPECT_EQ(first->wait(), 0) << first->out();
    EXPECT_EQ(second->wait(), 0) << second->out();
  }
  // The same words of this user are heard, or the test shows nothing.
  const auto first = rank_of({.rank = 0, .run = "friends"});
  EXPECT_TRUE(is_let_in(0, place + "friends", 2));
  first->send(SIGKILL);
  first->wait();
}

}  // namespace
}  // namespace syncopate::testing

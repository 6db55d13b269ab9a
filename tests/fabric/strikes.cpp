// What befalls ranks and agents of a world that mpirun started: strikes SCENARIO, on the ranks of
// striking.h. A rank to which what it should happens says so and ends with code 0. strikes.sh
// starts it and counts.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fabric/striking.h"
#include "support/common.h"
#include "support/mpirun.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {

bool no_descriptor_is_left = false;

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kGroupSteps = 40;
/// Enough for machines to exchange parts of pieces (sum_by_parts.h).
constexpr std::size_t kElements = 200'000;
const std::vector<float> kOne(kElements, 1.0F);

/// What the processes tell each other behind the world's back.
struct Notes {
  std::atomic<pid_t> process[kRanks];
  std::atomic<int> through;
  std::atomic<bool> left;  ///< The victim has left the world.
  /// Prints of what a group had at a step, for each of its members: who they are, and the mean.
  std::atomic<std::size_t> members[kGroupSteps + 1][kRanks];
  std::atomic<std::size_t> mean[kGroupSteps + 1][kRanks];
};

/// Waits until so many ranks have come here.
void meet(Notes& notes, int ranks) {
  ++notes.through;
  while (notes.through < ranks) std::this_thread::sleep_for(1ms);
}

struct Stage {
  World& world;
  Notes& notes;

  int rank() const { return world.rank(); }
  void strike(int signal) const { strike_myself(rank(), signal); }
  void wake(int rank) const { kill(notes.process[rank], SIGCONT); }
  void meet(int ranks) const { testing::meet(notes, ranks); }
};

/// What is thrown, with all of these words, within the time.
void expect_error(ErrorCode code, const std::vector<std::string>& words, Duration within,
                  const std::function<void()>& act) {
  const auto begin = Clock::now();
  try {
    act();
  } catch (const Error& error) {
    const std::string text = error.what();
    require(error.code() == code, "another error was expected: " + text);
    for (const std::string& word : words) {
      require(text.find(word) != std::string::npos, "\"" + word + "\" is in: " + text);
    }
    const auto took = std::chrono::duration<double>(Clock::now() - begin);
    require(took < within, "in time, but after " + std::to_string(took.count()) + " s: " + text);
    return;
  }
  throw std::runtime_error("not so: an error was expected");
}

PartialOptions options(Trigger trigger) { return {.trigger = trigger, .scale = Scale::none}; }

/// The others go on without a rank that was killed, count what it gave, and learn of its death.
void rank_killed(const Stage& stage) {
  constexpr int kSteps = 30, kGiven = 5;
  PartialAllreduce<double> rounds(stage.world, kElements, options(first()));
  const std::vector<double> one(kElements, 1.0);
  double total = 0;
  bool told = false;
  const auto follow = [&](const Round<double>& round) {
    total += round.sum()[0];
    require(round.sum().back() == round.sum()[0], "all parts of the sum have the same ranks");
    told = round.receipt().dead.list() == std::vector<int>{kVictim};
  };
  for (int step = 0; step < kSteps; ++step) {
    if (stage.rank() == kVictim && step == kGiven) {
      rounds.start(one);  // Complete: it counts.
      stage.strike(SIGKILL);
    }
    for (const auto& round : rounds.exchange(one)) follow(round);
    std::this_thread::sleep_for(20ms);
  }
  rounds.finish(follow);
  require(total == 4 * kSteps + kGiven + 1, "the sum is " + std::to_string(total));
  require(told, "the last receipt names the dead rank");
  require(stage.world.dead().contains(kVictim), "the world names the dead rank");
  stage.world.barrier();
}

/// The first to come says what is so, and the others must say the same.
void agree(std::atomic<std::size_t>& known, std::size_t print, const std::string& about) {
  std::size_t before = 0;
  print |= 1;  // Zero: no rank has come yet.
  require(known.compare_exchange_strong(before, print) || before == print,
          "the members of a group agree about " + about);
}

/// What all that share a group have to agree on.
void compare(const Stage& stage, const GroupReceipt& receipt, std::string_view weights) {
  const std::vector<int> members = receipt.members.list();
  const std::string step = " of step " + std::to_string(receipt.step);
  for (const int member : members) {
    agree(stage.notes.members[receipt.step][member],
          std::hash<std::string>()(to_string(receipt.members)), "the members" + step);
    // Who came late has merged the mean with its own weights.
    if (!receipt.included) continue;
    agree(stage.notes.mean[receipt.step][member], std::hash<std::string_view>()(weights),
          "the mean" + step);
  }
}

/// A member of groups that span machines is killed, with its weights of this step published or not:
/// the others average on, agree within each group, and count on it no more.
void average_without(const Stage& stage, Trigger trigger, bool published) {
  constexpr int kKilledAt = 7;  // Neither after a step of all ranks nor before one.
  const std::vector<float> initial(1000, 0.0F);
  GroupAverage<float> average(stage.world, initial,
                              {.group_size = 3, .synchronize_every = 5, .trigger = trigger});
  GroupReceipt receipt;
  for (int step = 1; step <= kGroupSteps; ++step) {
    float* weights = average.weights();
    for (std::size_t i = 0; i < initial.size(); ++i) weights[i] += 1;
    if (stage.rank() == kVictim && step == kKilledAt) {
      if (published) average.start();
      stage.strike(SIGKILL);
    }
    receipt = average.average();
    weights = average.weights();
    // All go up by one a step, so no mean of new and old weights is above the step's number.
    for (std::size_t i = 0; i < initial.size(); ++i) {
      require(std::isfinite(weights[i]) && weights[i] > 0 && weights[i] < float(step) + 0.01F,
              "the weights are " + std::to_string(weights[i]) + " after " + std::to_string(step));
    }
    compare(stage, receipt,
            {reinterpret_cast<const char*>(weights), initial.size() * sizeof(float)});
    std::this_thread::sleep_for(5ms);
  }
  require(receipt.dead.list() == std::vector<int>{kVictim}, "the last receipt names the dead rank");
  require(!receipt.members.contains(kVictim), "no group counts on the dead rank");
  require(stage.world.dead().contains(kVictim), "the world names the dead rank");
  stage.world.barrier();
}

void member_killed(const Stage& stage) { average_without(stage, first(), true); }
void awaited_member_killed(const Stage& stage) { average_without(stage, all(), false); }

/// Within the window nothing waits for a rank that is stopped; beyond, the timeout names it.
void rank_stopped(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(first()));
  std::uint64_t seen = 0;
  double total = 0;
  const auto follow = [&](const Round<float>& round) {
    seen = round.number();
    total += round.sum()[0];
  };
  stage.world.barrier();
  if (stage.rank() == kVictim) {
    stage.strike(SIGSTOP);
  } else {
    int deposits = 0;
    expect_error(ErrorCode::timeout, {"rank 4"}, 20s, [&] {
      for (;;) {
        ++deposits;
        for (const auto& round : rounds.exchange(kOne)) follow(round);
      }
    });
    require(seen == 8, "rounds within the window: " + std::to_string(seen));
    stage.meet(4);
    if (stage.rank() == 0) stage.wake(kVictim);
    for (const auto& round : rounds.wait()) follow(round);
  }
  for (const auto& round : rounds.exchange(kOne)) follow(round);
  rounds.finish(follow);
  stage.world.barrier();
}

/// On one machine: the job ends although the rank stays stopped.
void rank_stays_stopped(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  stage.world.barrier();
  if (stage.rank() == kVictim) stage.strike(SIGSTOP);
  expect_error(ErrorCode::timeout, {"rank 4", "stopped"}, 20s,
               [&] { rounds.exchange(kOne).pass(); });
}

/// The machine of an agent that was killed is lost, and all hear of it.
void agent_killed(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(first()));
  for (int step = 0; step < 3; ++step) rounds.exchange(kOne).pass();
  stage.world.barrier();
  if (stage.rank() == kAgent) stage.strike(SIGKILL);
  const bool same_machine = stage.rank() == kVictim;
  const std::vector<std::string> words =
      same_machine ? std::vector<std::string>{"rank 3", "spoke for this machine"}
                   : std::vector<std::string>{"machine", "#3", "ranks 3 and 4"};
  expect_error(ErrorCode::machine_lost, words, same_machine ? 2s : 8s, [&] {
    for (;;) {
      rounds.exchange(kOne).pass();
      std::this_thread::sleep_for(10ms);
    }
  });
}

/// The others wait for an agent that is stopped, and go on with it.
void agent_stopped_for_a_while(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  stage.world.barrier();
  std::thread waker;
  if (stage.rank() == 0) {
    waker = std::thread([&] {
      std::this_thread::sleep_for(2s);
      stage.wake(kAgent);
    });
  }
  if (stage.rank() == kAgent) stage.strike(SIGSTOP);
  for (int step = 0; step < 10; ++step) {
    require(rounds.exchange(kOne).front().sum()[0] == 5, "all are in the sum");
  }
  if (waker.joinable()) waker.join();
  stage.world.barrier();
}

/// For so long that the others give its machine up. The other rank of that machine waits with it
/// until its own timeout. The agent goes on when `wait` returns on rank 0.
void stop_for_too_long(const Stage& stage, PartialAllreduce<float>& rounds,
                       const std::function<void()>& wait) {
  stage.world.barrier();
  if (stage.rank() == kAgent) {
    stage.strike(SIGSTOP);
    try {
      rounds.exchange(kOne).pass();
    } catch (const Error&) {
      return;
    }
    throw std::runtime_error("not so: an error was expected");
  }
  const bool same_machine = stage.rank() == kVictim;
  if (same_machine) {
    expect_error(ErrorCode::timeout, {}, 8s, [&] { rounds.exchange(kOne).pass(); });
  } else {
    expect_error(ErrorCode::machine_lost, {"machine", "#3", "ranks 3 and 4"}, 8s,
                 [&] { rounds.exchange(kOne).pass(); });
  }
  stage.meet(4);
  wait();
  if (stage.rank() == 0) stage.wake(kAgent);
}

/// The other rank then hears that its machine was given up.
void agent_stopped(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  stop_for_too_long(stage, rounds, [] {});
  if (stage.rank() != kVictim) return;
  expect_error(ErrorCode::machine_lost, {"ranks 3 and 4"}, 8s, [&] { rounds.wait().pass(); });
}

/// The other rank ends before it can hear anything.
void left_behind(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  stop_for_too_long(stage, rounds, [&] {
    while (stage.rank() == 0 && !stage.notes.left) std::this_thread::sleep_for(1ms);
  });
}

/// A rank of another machine that does not come is named.
void barrier_missed(const Stage& stage) {
  if (stage.rank() == kVictim) {
    while (stage.notes.through < 4) std::this_thread::sleep_for(10ms);
  } else {
    expect_error(ErrorCode::timeout, {"rank 4"}, 10s, [&] { stage.world.barrier(); });
    stage.meet(4);
  }
  stage.world.barrier();
}

/// The same, beside a collective that no rank waits for: what broadcasts travel in.
void deposit_missed(const Stage& stage) {
  std::vector<float> value(1);
  stage.world.broadcast(std::span<float>(value), 0);
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  rounds.exchange(kOne).pass();
  if (stage.rank() == kVictim) {
    while (stage.notes.through < 4) std::this_thread::sleep_for(10ms);
    rounds.start(kOne);
  } else {
    rounds.start(kOne);
    expect_error(ErrorCode::timeout, {"rank 4"}, 10s, [&] { rounds.wait().pass(); });
    stage.meet(4);
  }
  require(rounds.wait().front().sum()[0] == 5, "the round is complete in the end");
  stage.world.barrier();
}

/// On three hosts of one rank each, of which cut_off.sh cuts the second off.
void host_cut_off(const Stage& stage) {
  constexpr int kCutOff = 1;
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  for (int step = 0; step < 20; ++step) rounds.exchange(kOne).pass();
  if (stage.rank() == 0) std::ofstream(std::getenv("SYNCOPATE_TEST_CUE")) << "now";
  const bool there = stage.rank() == kCutOff;
  expect_error(ErrorCode::machine_lost, {there ? "machine " : "machine two (rank 1) "}, 12s, [&] {
    for (;;) rounds.exchange(kOne).pass();
  });
  log(stage.rank(), there ? "told of another machine" : "told of machine two");
  throw std::runtime_error("the machine is lost");
}

bool link_is_back() { return std::ifstream(std::getenv("SYNCOPATE_TEST_HEALED")).good(); }

/// The same for less time than ranks are patient (comes_back.sh): they wait, and lose nothing.
void link_comes_back(const Stage& stage) {
  constexpr int kFirst = 20, kLast = 20;
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  std::vector<float> mine = kOne;
  std::uint64_t last_round = 0;
  Duration longest{0};
  // All ranks stop after the same round: the second element counts those that see the link back.
  for (int step = 0, left = kLast; left > 0; ++step) {
    if (stage.rank() == 0 && step == kFirst) {
      std::ofstream(std::getenv("SYNCOPATE_TEST_CUE")) << "now";
    }
    mine[1] = link_is_back() ? 1 : 0;
    const auto begin = Clock::now();
    for (const auto& round : rounds.exchange(mine)) {
      require(round.number() == ++last_round, "no round is skipped");
      require(round.sum()[0] == 3 && round.sum().back() == 3, "every round has all ranks");
      if (round.sum()[1] == 3) --left;
    }
    longest = std::max<Duration>(longest, Clock::now() - begin);
  }
  require(longest > 1s, "the link was cut");
  stage.world.barrier();
}

/// The same for more time: both sides have lost a machine, and stay with that when it is back.
void link_comes_back_late(const Stage& stage) {
  PartialAllreduce<float> rounds(stage.world, kElements, options(all()));
  for (int step = 0; step < 20; ++step) rounds.exchange(kOne).pass();
  if (stage.rank() == 0) std::ofstream(std::getenv("SYNCOPATE_TEST_CUE")) << "now";
  const auto lost = [&](Duration within, const std::function<void()>& act) {
    expect_error(ErrorCode::machine_lost, {"machine ", " has not answered for"}, within, act);
  };
  lost(20s, [&] {
    for (;;) rounds.exchange(kOne).pass();
  });
  while (!link_is_back()) std::this_thread::sleep_for(10ms);
  for (int call = 0; call < 20; ++call) {
    lost(1s, [&] { rounds.exchange(kOne).pass(); });
    lost(1s, [&] { stage.world.barrier(); });
    std::this_thread::sleep_for(50ms);  // What was on its way comes now.
  }
  log(stage.rank(), "content");
  stage.meet(3);
  throw std::runtime_error("the machine is lost");
}

/// Files may grow to 1 GiB: what fits works, and what does not is refused, to all ranks.
void board_limited(const Stage& stage) {
  constexpr std::size_t kTooMany = std::size_t{100} << 20;
  PartialAllreduce<float> fits(stage.world, kElements, options(all()));
  const bool alone = stage.rank() == 2;  // Its board is memory of its own, without any file.
  try {
    PartialAllreduce<float> does_not(stage.world, kTooMany, options(all()));
    throw std::runtime_error("a board may outgrow the limit on file sizes");
  } catch (const Error& error) {
    const std::string text = error.what();
    require(alone || text.find("ulimit -f") != std::string::npos, "ulimit -f is in: " + text);
  }
  require(fits.exchange(kOne).front().sum()[0] == kRanks, "what fits works still");
}

void limit_file_sizes() {
  const rlimit limit{.rlim_cur = rlim_t{1} << 30, .rlim_max = rlim_t{1} << 30};
  require(setrlimit(RLIMIT_FSIZE, &limit) == 0, "there is a limit");
}

void mismatch(const Stage& stage) {
  const bool odd = stage.rank() == kVictim;
  expect_error(ErrorCode::mismatch, {"rank 4", "disagree"}, 10s,
               [&] { PartialAllreduce<float> rounds(stage.world, odd ? 2 : 1, options(all())); });
}

/// A machine gets no board, when MPI is up and the others are waiting for it. Returns as a program
/// does that says why and ends: by exit(), which must not wait for anybody.
int board_refused() {
  const int rank = mpirun_rank();
  if (rank == kAgent) {
    no_descriptor_is_left = true;
  }
  try {
    // The other ranks of a machine whose first one waits have a world, and no agent to speak for
    // it.
    World::from_environment().barrier();
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    std::printf("rank %d: %s\n", rank, error.what());
    const std::string text = error.what();
    const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
    // Rank 0, which speaks for rank 1, gives up and goes: rank 1 hears that, or finds it gone.
    const bool content = rank == kAgent ? says("ulimit -n")
                         : rank == 1    ? says(" to join in a ") || says("waited in vain") ||
                                           says("spoke for this machine")
                                     : says("did not come");
    if (content) log(rank, "content");
    return EXIT_FAILURE;
  }
}

const std::map<std::string, std::function<void(const Stage&)>> kScenarios = {
    {"rank-killed", rank_killed},
    {"member-killed", member_killed},
    {"awaited-member-killed", awaited_member_killed},
    {"rank-stopped", rank_stopped},
    {"rank-stays-stopped", rank_stays_stopped},
    {"agent-killed", agent_killed},
    {"agent-stopped", agent_stopped},
    {"agent-stopped-for-a-while", agent_stopped_for_a_while},
    {"left-behind", left_behind},
    {"host-cut-off", host_cut_off},
    {"link-comes-back", link_comes_back},
    {"link-comes-back-late", link_comes_back_late},
    {"board-limited", board_limited},
    {"barrier-missed", barrier_missed},
    {"deposit-missed", deposit_missed},
    {"mismatch", mismatch}};

}  // namespace
}  // namespace syncopate::testing

/// In the place of the C library's, for the board.
extern "C" int memfd_create(const char* name, unsigned int flags) noexcept {
  if (!syncopate::testing::no_descriptor_is_left)
    return int(syscall(SYS_memfd_create, name, flags));
  errno = EMFILE;
  return -1;
}

int main(int count, char** arguments) {
  using namespace syncopate::testing;
  const std::string scenario = count > 1 ? arguments[1] : "";
  if (scenario == "board-refused") return board_refused();
  const auto found = kScenarios.find(scenario);
  if (found == kScenarios.end()) {
    std::puts("strikes SCENARIO");
    return EXIT_FAILURE;
  }
  const Common<Notes> notes;
  int rank = -1;
  try {
    if (scenario == "board-limited") limit_file_sizes();
    syncopate::World world = syncopate::World::from_environment();
    rank = world.rank();
    notes->process[rank] = getpid();
    world.barrier();
    found->second({world, *notes});
  } catch (const std::exception& error) {
    log(rank, "failing");
    std::printf("rank %d failed: %s\n", rank, error.what());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
  if (rank == kVictim) notes->left = true;
  log(rank, "content");
  // The first of these to end makes mpirun end the others.
  if (scenario == "rank-stays-stopped" && rank != kVictim) meet(*notes, kRanks - 1);
}

// The shared memory of ranks that are processes: no name, no need for /dev/shm, gone with the
// last process, and not disturbed by children that a rank forks.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/common.h"
#include "support/processes.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kElements = 1 << 20;

void train(World& world, int rounds) {
  PartialAllreduce<float> sums(world, kElements, {.trigger = all(), .scale = Scale::none});
  for (int i = 0; i < rounds; ++i) {
    std::fill_n(sums.slot(), kElements, 1.0F);
    const auto done = sums.exchange();
    ASSERT_EQ(done.front().sum()[kElements - 1], static_cast<float>(world.size()));
  }
}

std::set<std::string> names_in_dev_shm() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) {
    names.insert(entry.path().filename());
  }
  return names;
}

void expect_all_well(Processes& processes) {
  for (const Ending& ending : processes.wait()) {
    EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
  }
}

TEST(SharedMemory, HasNoNameInDevShm) {
  const auto before = names_in_dev_shm();
  Processes processes(2, [&](int) {
    World world = World::from_environment();
    train(world, 2);
    for (const std::string& name : names_in_dev_shm()) {
      EXPECT_TRUE(before.contains(name) || name.find("syncopate") == std::string::npos) << name;
    }
  });
  expect_all_well(processes);
}

/// Puts an empty file system of one page over /dev/shm, for this process and its children only.
bool shrink_dev_shm() {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k") == 0;
}

TEST(SharedMemory, DoesNotDependOnTheSizeOfDevShm) {
  const pid_t child = fork();
  if (child == 0) {
    if (!shrink_dev_shm()) _exit(77);
    {
      Processes processes(2, [&](int) {
        World world = World::from_environment();
        train(world, 2);
      });
      expect_all_well(processes);
    }
    std::fflush(nullptr);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this container may not mount";
  EXPECT_EQ(status, 0);
}

/// Whether any process of this machine still maps or holds the file.
bool in_use(ino_t inode) {
  std::error_code none;
  for (const auto& process : std::filesystem::directory_iterator("/proc", none)) {
    const std::string name = process.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name.front()))) continue;
    std::ifstream maps(process.path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream columns(line);
      std::string range, rights, offset, device, path;
      ino_t mapped = 0;
      columns >> range >> rights >> offset >> device >> mapped >> path;
      if (mapped == inode && path.find("memfd:syncopate-board") != std::string::npos) return true;
    }
    for (const auto& open : std::filesystem::directory_iterator(process.path() / "fd", none)) {
      struct stat status {};
      if (stat(open.path().c_str(), &status) != 0 || status.st_ino != inode) continue;
      const auto target = std::filesystem::read_symlink(open.path(), none).string();
      if (target.find("memfd:syncopate-board") != std::string::npos) return true;
    }
  }
  return false;
}

TEST(SharedMemory, IsGoneWithTheLastProcessHoweverItDied) {
  ino_t inode = 0;
  {
    Processes processes(3, [](int) {
      World world = World::from_environment();
      PartialAllreduce<float> sums(world, kElements, {.trigger = first()});
      for (;;) {
        std::fill_n(sums.slot(), kElements, 1.0F);
        sums.exchange().pass();
        std::puts("a round");
        std::fflush(stdout);
      }
    });
    struct stat status {};
    ASSERT_EQ(stat(processes.meeting().address().c_str(), &status), 0);
    inode = status.st_ino;
    std::set<int> ran;
    processes.on_line = [&](int rank, const std::string&) {
      ran.insert(rank);
      for (int other = 0; other < 3 && ran.size() == 3; ++other) processes.send(other, SIGKILL);
    };
    for (const Ending& ending : processes.wait()) EXPECT_EQ(ending.signal, SIGKILL);
    EXPECT_TRUE(in_use(inode)) << "the launcher still has it";
  }
  EXPECT_FALSE(in_use(inode));
}

/// Forks a child of the rank and waits for it to end, as a data loader does.
void have_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

TEST(ForkedChild, ThatExitsDoesNotDisturbItsRank) {
  Processes processes(3, [](int) {
    std::optional<World> world = World::from_environment();
    std::optional<PartialAllreduce<float>> sums;
    sums.emplace(*world, 100, PartialOptions{.trigger = all(), .scale = Scale::none});
    const std::vector<float> ones(100, 1.0F);
    const auto exchange = [&] { EXPECT_EQ(sums->exchange(ones).front().sum()[99], 3.0F); };
    exchange();
    have_child([] {});
    exchange();
    have_child([] { kill(getpid(), SIGKILL); });
    exchange();
    // A child that ends the ordinary way takes down everything it inherited.
    have_child([&] {
      sums.reset();
      world.reset();
    });
    exchange();
    world->barrier();
    EXPECT_TRUE(world->dead().empty());
    sums->finish([](const Round<float>&) {});
  });
  expect_all_well(processes);
}

struct Orphan {
  std::atomic<pid_t> pid;
};

TEST(ForkedChild, ThatOutlivesItsRankDoesNotHideTheDeath) {
  Common<Orphan> orphan;
  Processes processes(2, [&](int rank) {
    World world = World::from_environment();
    world.set_timeout(15s);
    PartialAllreduce<float> sums(world, 1, {.trigger = all(), .scale = Scale::none});
    const std::vector<float> one{1.0F};
    EXPECT_EQ(sums.exchange(one).front().sum()[0], 2.0F);
    if (rank == 1) {
      const pid_t child = fork();
      if (child == 0) {
        for (;;) pause();
      }
      orphan->pid = child;
      kill(getpid(), SIGKILL);
    }
    EXPECT_EQ(sums.exchange(one).front().sum()[0], 1.0F);
    EXPECT_EQ(world.dead().list(), std::vector<int>{1});
  });
  const std::vector<Ending> endings = processes.wait();
  EXPECT_EQ(endings[0].code, 0) << endings[0].said;
  if (orphan->pid > 0) kill(orphan->pid, SIGKILL);
}

}  // namespace
}  // namespace syncopate::testing

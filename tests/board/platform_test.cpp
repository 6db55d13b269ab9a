// News of other processes: alive, stopped, ended, replaced by another with the same number.
#include "board/platform.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace syncopate::board {
namespace {

/// A process that tells who it is and waits until it is killed.
class Child {
 public:
  Child() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      const ProcessId self = this_process();
      if (write(ends[1], &self, sizeof self) != sizeof self) _exit(1);
      for (;;) pause();
    }
    EXPECT_EQ(read(ends[0], &id_, sizeof id_), static_cast<ssize_t>(sizeof id_));
    close(ends[0]);
    close(ends[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (reaped_) return;
    kill(pid_, SIGKILL);
    reap();
  }

  const ProcessId& id() const { return id_; }
  /// Sends a signal and waits until it has had its effect, which stays to be waited for.
  void send(int signal, int effect) const {
    kill(pid_, signal);
    siginfo_t info;
    waitid(P_PID, pid_, &info, effect | WNOWAIT);
  }
  void reap() {
    waitpid(pid_, nullptr, 0);
    reaped_ = true;
  }

 private:
  pid_t pid_ = 0;
  ProcessId id_;
  bool reaped_ = false;
};

class ProcessPlatform : public ::testing::Test {
 protected:
  std::unique_ptr<Platform> platform_ = make_process_platform(2);
  Child child_;
};

TEST_F(ProcessPlatform, KnowsItself) {
  EXPECT_EQ(this_process().pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_GT(this_process().started, 0U);
  EXPECT_TRUE(platform_->alive(0, this_process()));
}

TEST_F(ProcessPlatform, SeesADeathBeforeAnybodyHasWaitedForTheProcess) {
  EXPECT_TRUE(platform_->alive(1, child_.id()));
  child_.send(SIGKILL, WEXITED);
  EXPECT_FALSE(platform_->alive(1, child_.id())) << "it is a zombie now";
  child_.reap();
  EXPECT_FALSE(platform_->alive(1, child_.id()));
}

TEST_F(ProcessPlatform, SeesADeathThatHappenedBeforeItFirstLooked) {
  child_.send(SIGKILL, WEXITED);
  EXPECT_FALSE(platform_->alive(0, child_.id())) << "as a zombie";
  child_.reap();
  EXPECT_FALSE(platform_->alive(1, child_.id())) << "when it is gone";
}

TEST_F(ProcessPlatform, TakesAStoppedProcessForAlive) {
  EXPECT_EQ(platform_->describe(child_.id()), "pid " + std::to_string(child_.id().pid));
  child_.send(SIGSTOP, WSTOPPED);
  EXPECT_TRUE(platform_->alive(1, child_.id()));
  EXPECT_EQ(platform_->describe(child_.id()),
            "pid " + std::to_string(child_.id().pid) + ", stopped");
}

TEST_F(ProcessPlatform, TellsALaterProcessWithTheSameNumberApart) {
  ProcessId earlier = child_.id();
  earlier.started -= 1;
  EXPECT_FALSE(platform_->alive(1, earlier));
  EXPECT_FALSE(platform_->alive(1, earlier)) << "also at the second look";
}

TEST_F(ProcessPlatform, HasAClockThatNeverGoesBack) {
  Time before = platform_->now();
  for (int i = 0; i < 1000; ++i) {
    const Time now = platform_->now();
    ASSERT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace syncopate::board

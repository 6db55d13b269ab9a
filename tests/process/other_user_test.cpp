// The board belongs to one user: no process of another can open it, read it or take a seat at it,
// and a rank does not sit down at a board that another user has made.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "board/launcher_board.h"
#include "board/segment.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"
#include "world/layout.h"

namespace syncopate::testing {
namespace {

constexpr uid_t kSomeone = 12345;
constexpr uid_t kSomeoneElse = 54321;

/// Becomes that user, for good and with no rights left.
void become(uid_t user) {
  ASSERT_EQ(setgroups(0, nullptr), 0);
  ASSERT_EQ(setresgid(user, user, user), 0);
  ASSERT_EQ(setresuid(user, user, user), 0);
  // Changing users has hidden this process even from its own user; a new program would not be.
  ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
}

/// Runs `body` in a child and expects it to end well.
void in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0);
}

/// Makes a board as one user and calls `body` as another, with the address and an open descriptor.
void as_another(uid_t owner, uid_t other,
                const std::function<void(const std::string&, int, pid_t)>& body) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become two users";
  int asked[2];
  int told[2];
  ASSERT_EQ(pipe(asked), 0);
  ASSERT_EQ(pipe(told), 0);
  std::fflush(nullptr);
  const pid_t maker = fork();
  ASSERT_GE(maker, 0);
  if (maker == 0) {
    close(asked[1]);
    if (owner != 0) become(owner);
    const board::LauncherBoard meeting(2, world::layout_behind_roster());
    const std::string address = meeting.address();
    if (write(told[1], address.data(), address.size()) < 0) _exit(1);
    char end;
    _exit(read(asked[0], &end, 1) == 0 ? 0 : 1);  // Until the test closes its end.
  }
  close(asked[0]);
  char address[256] = {};
  ASSERT_GT(read(told[0], address, sizeof address - 1), 0);
  // Root may open anything: so a descriptor gets to the other user, as by an inheritance.
  const int descriptor = open(address, O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  in_child([&] {
    if (other != 0) become(other);
    body(address, descriptor, maker);
  });
  close(descriptor);
  close(asked[1]);
  close(told[0]);
  close(told[1]);
  int status = 0;
  waitpid(maker, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(AnotherUser, CannotOpenTheBoard) {
  for (const uid_t owner : {uid_t{0}, kSomeone}) {
    as_another(owner, kSomeoneElse, [](const std::string& address, int, pid_t) {
      EXPECT_LT(open(address.c_str(), O_RDONLY), 0);
      EXPECT_EQ(errno, EACCES);
      EXPECT_LT(open(address.c_str(), O_RDWR), 0);
      expect_refused(ErrorCode::environment, {"cannot open the board", "same user"},
                     [&] { board::Segment::open(address); });
    });
  }
}

TEST(AnotherUser, CannotJoin) {
  as_another(kSomeone, kSomeoneElse, [](const std::string& address, int, pid_t) {
    setenv("SYNCOPATE_RANK", "0", 1);
    setenv("SYNCOPATE_RANKS", "2", 1);
    setenv("SYNCOPATE_BOARD", address.c_str(), 1);
    expect_refused(ErrorCode::environment, {"cannot open the board"},
                   [] { World::from_environment(); });
  });
}

TEST(AnotherUser, CannotMakeMoreOfADescriptorThanItIs) {
  as_another(kSomeone, kSomeoneElse, [](const std::string&, int descriptor, pid_t) {
    const std::string again = "/proc/self/fd/" + std::to_string(descriptor);
    EXPECT_LT(open(again.c_str(), O_RDWR), 0) << "by the file's mode";
    EXPECT_LT(open(again.c_str(), O_RDONLY), 0);
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), MAP_FAILED);
  });
}

TEST(AnotherUser, CannotReadTheMemoryOfARank) {
  as_another(kSomeone, kSomeoneElse, [](const std::string&, int, pid_t maker) {
    const std::string memory = "/proc/" + std::to_string(maker) + "/mem";
    EXPECT_LT(open(memory.c_str(), O_RDONLY), 0);
    char byte;
    iovec here{.iov_base = &byte, .iov_len = 1};
    iovec there{.iov_base = &here, .iov_len = 1};
    EXPECT_LT(process_vm_readv(maker, &here, 1, &there, 1, 0), 0);
    EXPECT_EQ(errno, EPERM);
  });
}

TEST(AnotherUser, IsNoHostForARank) {
  // Even for root, which could open it.
  as_another(kSomeone, 0, [](const std::string& address, int, pid_t) {
    expect_refused(ErrorCode::environment, {"belongs to user 12345", "user 0", "as one user"},
                   [&] { board::Segment::open(address); });
  });
}

}  // namespace
}  // namespace syncopate::testing

// Bells ring at the machine that is meant, and nowhere else.
#include "fabric/doorbell.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <span>
#include <vector>

#include "fabric/packet.h"

namespace syncopate::testing {
namespace {

using fabric::Doorbell;
using namespace std::chrono_literals;

/// Counts how often a bell has rung.
class Counter {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool reaches(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return count_ >= count; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

/// What was sent before has come by the time that one more has rung: one socket, one host.
void expect_rung(int times, Doorbell& here, Counter& counter) {
  Doorbell other(2, 1, [] {});
  other.learn(0, here.address());
  other.ring(0);
  ASSERT_TRUE(counter.reaches(times + 1));
  EXPECT_EQ(counter.count(), times + 1);
}

TEST(Doorbell, RingsWhereItIsMeantTo) {
  Counter one, two;
  Doorbell first(3, 0, [&] { one.add(); });
  Doorbell second(3, 1, [&] { two.add(); });
  first.learn(1, second.address());
  second.learn(0, first.address());
  first.ring(1);
  ASSERT_TRUE(two.reaches(1));
  first.ring(1);
  ASSERT_TRUE(two.reaches(2));
  EXPECT_EQ(one.count(), 0);
  second.ring(0);
  ASSERT_TRUE(one.reaches(1));
}

TEST(Doorbell, TellsOnceWhichWayLedHere) {
  Counter counter;
  Doorbell here(2, 0, [&] { counter.add(); });
  Doorbell there(2, 1, [] {});
  there.learn(0, here.address());
  EXPECT_TRUE(here.take_proven_ways().empty());
  there.ring(0);
  ASSERT_TRUE(counter.reaches(1));
  const auto proven = here.take_proven_ways();
  ASSERT_EQ(proven.size(), 1U);
  EXPECT_EQ(proven[0].first, 1);
  there.prefer(0, proven[0].second);
  there.ring(0);
  ASSERT_TRUE(counter.reaches(2));
  EXPECT_TRUE(here.take_proven_ways().empty());
  there.prefer(0, 99);  // A way that there is not: nothing is left.
  there.ring(0);
  expect_rung(2, here, counter);
}

/// An address begins with a secret, who it is that has the loopback, and a port.
constexpr std::size_t kSecret = sizeof(std::uint64_t), kPort = sizeof(std::uint16_t);

/// As from another host, which has several ways here. (All of them are this host's loopback.)
TEST(Doorbell, TriesAllWaysUntilItKnowsOne) {
  Counter counter;
  Doorbell here(2, 0, [&] { counter.add(); });
  Doorbell there(2, 1, [] {});
  const std::vector<std::byte>& real = here.address();
  fabric::Packer address;
  address.put_bytes(std::span(real).first(kSecret))
      .put(std::uint64_t{0})  // Another host.
      .put_bytes(std::span(real).subspan(2 * kSecret, kPort))
      .put(htonl(INADDR_LOOPBACK))
      .put(htonl(INADDR_LOOPBACK + 1));
  there.learn(0, address.bytes());
  there.ring(0);
  ASSERT_TRUE(counter.reaches(2));
  const auto proven = here.take_proven_ways();
  ASSERT_EQ(proven.size(), 1U);
  there.prefer(0, proven[0].second);
  there.ring(0);
  ASSERT_TRUE(counter.reaches(3));
  expect_rung(3, here, counter);
}

/// The address of a bell in another process, which may have a network of its own, as another host
/// has. Empty if that is not allowed here.
std::vector<std::byte> address_elsewhere(bool other_network) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    if (other_network && unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
      _exit(0);
    }
    const std::vector<std::byte> address = Doorbell(2, 0, [] {}).address();
    _exit(write(ends[1], address.data(), address.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::vector<std::byte> address(1000);
  const ssize_t bytes = read(ends[0], address.data(), address.size());
  close(ends[0]);
  waitpid(child, nullptr, 0);
  address.resize(bytes > 0 ? bytes : 0);
  return address;
}

TEST(Doorbell, LooksForAnotherHostsBellsElsewhere) {
  const std::vector<std::byte> near = address_elsewhere(/*other_network=*/false);
  const std::vector<std::byte> far = address_elsewhere(/*other_network=*/true);
  ASSERT_FALSE(near.empty());
  if (far.empty()) GTEST_SKIP() << "no network namespaces here";
  Counter counter;
  Doorbell here(2, 0, [&] { counter.add(); });
  Doorbell there(2, 1, [] {});
  // As if this one's were on the host of the other: on the loopback, or nowhere.
  const auto ring_at_host_of = [&](std::span<const std::byte> other) {
    std::vector<std::byte> address = here.address();
    std::ranges::copy(other.subspan(kSecret, kSecret), address.begin() + kSecret);
    address.resize(2 * kSecret + kPort);
    there.learn(0, address);
    there.ring(0);
  };
  ring_at_host_of(far);
  expect_rung(0, here, counter);
  ring_at_host_of(near);
  ASSERT_TRUE(counter.reaches(2));
}

TEST(Doorbell, IsDeafToWhoDoesNotKnowIt) {
  Counter counter;
  Doorbell here(2, 0, [&] { counter.add(); });
  Doorbell stranger(2, 1, [] {});
  std::vector<std::byte> address = here.address();
  address[0] ^= std::byte{1};  // Its secret.
  stranger.learn(0, address);
  stranger.ring(0);
  expect_rung(0, here, counter);
}

TEST(Doorbell, IsSilentWhereThereIsNone) {
  ASSERT_EQ(setenv(fabric::kDoorbellVariable, "off", 1), 0);
  Doorbell off(2, 0, [] { FAIL() << "nobody can ring"; });
  ASSERT_EQ(unsetenv(fabric::kDoorbellVariable), 0);
  EXPECT_TRUE(off.address().empty());
  Doorbell other(2, 1, [] {});
  other.learn(0, off.address());
  other.ring(0);
  off.learn(1, other.address());
  off.ring(1);
}

}  // namespace
}  // namespace syncopate::testing

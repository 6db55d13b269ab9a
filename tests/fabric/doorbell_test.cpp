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
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
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

const in_addr_t kLoopback = htonl(INADDR_LOOPBACK);
const std::vector<in_addr_t> kHere{kLoopback};

/// What was sent before has come by the time that one more has rung: one socket, one host.
void expect_rung(int times, Doorbell& here, Counter& counter) {
  Doorbell other(2, 1, kHere, [] {});
  other.learn(0, here.address());
  other.ring(0);
  ASSERT_TRUE(counter.reaches(times + 1));
  EXPECT_EQ(counter.count(), times + 1);
}

TEST(Doorbell, RingsWhereItIsMeantTo) {
  Counter one, two;
  Doorbell first(3, 0, kHere, [&] { one.add(); });
  Doorbell second(3, 1, kHere, [&] { two.add(); });
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
  Doorbell here(2, 0, kHere, [&] { counter.add(); });
  Doorbell there(2, 1, kHere, [] {});
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

/// An address begins with a secret and who it is that has the loopback; then it has ways.
constexpr std::size_t kSecret = sizeof(std::uint64_t);

/// As from another host, which has several ways here. (All of them are this host's loopback.)
TEST(Doorbell, TriesAllWaysUntilItKnowsOne) {
  Counter counter;
  const std::vector<in_addr_t> two{htonl(INADDR_LOOPBACK + 1), htonl(INADDR_LOOPBACK + 2)};
  Doorbell here(2, 0, two, [&] { counter.add(); });
  Doorbell there(2, 1, kHere, [] {});
  std::vector<std::byte> address = here.address();
  std::ranges::fill(std::span(address).subspan(kSecret, kSecret), std::byte{0});  // Another host.
  there.learn(0, address);
  there.ring(0);
  ASSERT_TRUE(counter.reaches(2));
  const auto proven = here.take_proven_ways();
  ASSERT_EQ(proven.size(), 1U);
  there.prefer(0, proven[0].second);
  there.ring(0);
  ASSERT_TRUE(counter.reaches(3));
  there.ring(0);
  ASSERT_TRUE(counter.reaches(4));
  EXPECT_EQ(counter.count(), 4);
}

/// How many of this process's sockets for datagrams are bound to an address.
int ears_at(in_addr_t address) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    sockaddr_in bound{};
    socklen_t length = sizeof bound;
    int type = 0;
    socklen_t type_length = sizeof type;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) != 0) continue;
    if (bound.sin_family != AF_INET) continue;
    getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_length);
    count += type == SOCK_DGRAM && bound.sin_addr.s_addr == address ? 1 : 0;
  }
  return count;
}

TEST(Doorbell, ListensAtTheLoopbackOnlyIfAllAreOnThisHost) {
  const auto own = fabric::addresses_of_host();
  fabric::Topology topology{
      .machine_of = {0, 1}, .addresses = {"here", "here"}, .networks = {own, own}};
  EXPECT_EQ(fabric::doorbell_addresses(topology), kHere);
  const Doorbell bell(2, 0, fabric::doorbell_addresses(topology), [] {});
  EXPECT_EQ(ears_at(kLoopback), 1);
  EXPECT_EQ(ears_at(htonl(INADDR_ANY)), 0);
}

TEST(Doorbell, ListensWhereOtherHostsCanReachItAndNowhereElse) {
  const auto own = fabric::addresses_of_host();
  if (own.empty()) GTEST_SKIP() << "this host has no address but the loopback";
  // A neighbor of the first address. (Nothing is sent to it.)
  const std::uint32_t neighbor = htonl(ntohl(own.front()) ^ 1);
  fabric::Topology topology{
      .machine_of = {0, 1}, .addresses = {"here", "there"}, .networks = {own, {neighbor}}};
  const auto addresses = fabric::doorbell_addresses(topology);
  ASSERT_EQ(addresses.size(), 1U);
  EXPECT_NE(std::ranges::find(own, addresses.front()), own.end());
  const Doorbell bell(2, 0, addresses, [] {});
  EXPECT_EQ(ears_at(addresses.front()), 1);
  EXPECT_EQ(ears_at(htonl(INADDR_ANY)), 0);
  EXPECT_EQ(ears_at(kLoopback), 0);
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
    const std::vector<std::byte> address = Doorbell(2, 0, kHere, [] {}).address();
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
  Doorbell here(2, 0, kHere, [&] { counter.add(); });
  Doorbell there(2, 1, kHere, [] {});
  // As if this one's were on the host of the other: on the loopback, or nowhere.
  const auto ring_at_host_of = [&](std::span<const std::byte> other) {
    std::vector<std::byte> address = here.address();
    std::ranges::copy(other.subspan(kSecret, kSecret), address.begin() + kSecret);
    there.learn(0, address);
    there.ring(0);
  };
  ring_at_host_of(far);
  expect_rung(0, here, counter);
  ring_at_host_of(near);
  ASSERT_TRUE(counter.reaches(2));
}

TEST(Doorbell, NoAddressIsRefused) {
  Doorbell bell(2, 0, kHere, [] {});
  const std::vector<std::byte> good = Doorbell(2, 1, kHere, [] {}).address();
  for (std::size_t size = 1; size < good.size(); ++size) {
    if (size == 2 * kSecret) continue;  // One without any way.
    EXPECT_THROW(bell.learn(1, std::span(good).first(size)), BadMessage) << size;
  }
  std::vector<std::byte> many = good;
  many.resize(2 * kSecret + 6 * (Doorbell::kMostWays + 1));
  EXPECT_THROW(bell.learn(1, many), BadMessage);
}

TEST(Doorbell, HeedsNothingButWholeRingsOfItsMachines) {
  using Ring = Doorbell::Ring;
  constexpr std::uint64_t kKnown = 0x1234567890abcdef;
  const auto who = [&](const Ring& ring, std::size_t bytes = sizeof(Ring)) {
    return Doorbell::who_rings(std::as_bytes(std::span(&ring, 1)).first(bytes), kKnown, 3);
  };
  EXPECT_EQ(who({.secret = kKnown, .from = 2}), 2);
  EXPECT_EQ(who({.secret = kKnown, .from = 3}), -1);
  EXPECT_EQ(who({.secret = kKnown, .from = -1}), -1);
  EXPECT_EQ(who({.secret = kKnown ^ 1, .from = 2}), -1);
  EXPECT_EQ(who({.secret = kKnown, .from = 2}, sizeof(Ring) - 1), -1);
}

TEST(Doorbell, IsDeafToWhoDoesNotKnowIt) {
  Counter counter;
  Doorbell here(2, 0, kHere, [&] { counter.add(); });
  Doorbell stranger(2, 1, kHere, [] {});
  std::vector<std::byte> address = here.address();
  address[0] ^= std::byte{1};  // Its secret.
  stranger.learn(0, address);
  stranger.ring(0);
  expect_rung(0, here, counter);
}

TEST(Doorbell, IsSilentWhereThereIsNone) {
  ASSERT_EQ(setenv(fabric::kDoorbellVariable, "off", 1), 0);
  Doorbell off(2, 0, fabric::doorbell_addresses({.addresses = {"a", "b"}}),
               [] { FAIL() << "no machine can ring"; });
  ASSERT_EQ(unsetenv(fabric::kDoorbellVariable), 0);
  EXPECT_TRUE(off.address().empty());
  Doorbell other(2, 1, kHere, [] {});
  other.learn(0, off.address());
  other.ring(0);
  off.learn(1, other.address());
  off.ring(1);
}

}  // namespace
}  // namespace syncopate::testing

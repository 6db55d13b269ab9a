// The memory of the ranks: zero at first, shared under its address or of one process alone, given
// back when discarded.
#include "board/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/descriptor.h"
#include "support/refusal.h"

namespace syncopate::board {
namespace {

using testing::expect_refused;

constexpr std::size_t kBytes = 3 << 20;

std::uint64_t bytes_in_use(const Segment& segment) {
  struct stat status {};
  EXPECT_EQ(stat(segment.address().c_str(), &status), 0);
  return std::uint64_t(status.st_blocks) * 512;
}

/// Whether there is memory of this process at the address.
bool mapped(const std::byte* address) {
  const std::uintptr_t page = std::uintptr_t(address) & ~std::uintptr_t(sysconf(_SC_PAGESIZE) - 1);
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(page), 1, &resident) == 0;
}

bool all_zero(const Mapping& mapping) {
  return std::all_of(mapping.data(), mapping.data() + mapping.size(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

TEST(Segment, TakesMemoryWhereItIsTouchedOnly) {
  const auto segment = Segment::create();
  EXPECT_EQ(bytes_in_use(*segment), 0U);
  const auto huge = segment->map(Segment::kPage, std::size_t{1} << 40);
  EXPECT_EQ(bytes_in_use(*segment), 0U);
  huge->data()[std::size_t{1} << 39] = std::byte{1};
  EXPECT_GT(bytes_in_use(*segment), 0U);
  EXPECT_LE(bytes_in_use(*segment), Segment::kPage);
}

TEST(Segment, IsItsUsersAloneAndKeepsItsSize) {
  const auto segment = Segment::create();
  struct stat status {};
  ASSERT_EQ(stat(segment->address().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(status.st_uid, geteuid());
  const int descriptor = open(segment->address().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_NE(ftruncate(descriptor, 0), 0) << "ranks that have mapped it would end by SIGBUS";
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE), 0);
  // Memory can still be given back.
  const auto mapping = segment->map(0, kBytes);
  mapping->data()[0] = std::byte{1};
  segment->discard(0, Segment::whole_pages(kBytes));
  EXPECT_TRUE(all_zero(*mapping));
  close(descriptor);
}

TEST(Segment, ThatCouldShrinkUnderItsRanksIsRefused) {
  const auto segment = Segment::create();
  struct stat status {};
  ASSERT_EQ(stat(segment->address().c_str(), &status), 0);
  const int unsealed = memfd_create("not-a-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, status.st_size), 0);
  const std::string address = "/proc/self/fd/" + std::to_string(unsealed);
  expect_refused(ErrorCode::environment, {"is not a board"}, [&] { Segment::open(address); });
  close(unsealed);
}

TEST(Segment, IsTheSameUnderItsAddress) {
  const auto segment = Segment::create();
  const auto other = Segment::open(segment->address());
  const auto here = segment->map(0, kBytes);
  const auto there = other->map(0, kBytes);
  EXPECT_NE(here->data(), there->data());
  here->data()[kBytes - 1] = std::byte{42};
  EXPECT_EQ(there->data()[kBytes - 1], std::byte{42});
}

class EverySegment : public ::testing::TestWithParam<decltype(&Segment::create)> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EverySegment,
                         ::testing::Values(&Segment::create, &Segment::create_private),
                         [](const auto& kind) { return kind.index == 0 ? "Shared" : "Private"; });

TEST_P(EverySegment, IsMappedOncePerProcessWhileItIsUsed) {
  const auto segment = GetParam()();
  auto first = segment->map(0, kBytes);
  EXPECT_EQ(segment->map(0, kBytes), first);
  first->data()[0] = std::byte{1};
  first.reset();
  EXPECT_EQ(segment->map(0, kBytes)->data()[0], std::byte{1}) << "the memory outlives a mapping";
}

TEST_P(EverySegment, IsZeroWhenItIsMappedAgainAfterItWasDiscarded) {
  const auto segment = GetParam()();
  auto mapping = segment->map(0, kBytes);
  const auto neighbor = segment->map(2 * Segment::kPage, Segment::kPage);
  EXPECT_TRUE(all_zero(*mapping));
  std::fill_n(mapping->data(), kBytes, std::byte{7});
  neighbor->data()[0] = std::byte{9};
  segment->discard(0, 2 * Segment::kPage);
  mapping.reset();
  EXPECT_TRUE(all_zero(*segment->map(0, kBytes)));
  EXPECT_EQ(neighbor->data()[0], std::byte{9});
}

TEST(Segment, OfOneProcessHasNoAddressAndGivesItsMemoryBack) {
  const auto segment = Segment::create_private();
  EXPECT_EQ(segment->address(), "");
  auto mapping = segment->map(0, kBytes);
  const std::byte* const begin = mapping->data();
  std::fill_n(mapping->data(), kBytes, std::byte{7});
  EXPECT_TRUE(mapped(begin) && mapped(begin + kBytes - 1));
  segment->discard(0, 2 * Segment::kPage);
  mapping.reset();
  EXPECT_FALSE(mapped(begin) || mapped(begin + kBytes - 1));
}

TEST(Segment, OfOneProcessBeginsWhereALargePageCan) {
  const auto segment = Segment::create_private();
  const auto small = segment->map(0, 100);
  for (std::uint64_t page = 1; page <= 4; ++page) {
    const std::size_t bytes = Segment::kPage * page + 100 * page;
    const auto large = segment->map(page << 30, bytes);
    EXPECT_EQ(std::uintptr_t(large->data()) % Segment::kPage, 0U);
    large->data()[bytes - 1] = std::byte{1};
    EXPECT_EQ(large->size(), bytes);
  }
}

TEST(Segment, GivesDiscardedMemoryBackAndReadsAsZero) {
  const auto segment = Segment::create();
  const auto mapping = segment->map(0, kBytes);
  const auto neighbor = segment->map(2 * Segment::kPage, Segment::kPage);
  std::fill_n(mapping->data(), kBytes, std::byte{7});
  neighbor->data()[0] = std::byte{9};
  EXPECT_GE(bytes_in_use(*segment), kBytes);
  segment->discard(0, 2 * Segment::kPage);
  EXPECT_LE(bytes_in_use(*segment), Segment::kPage) << "the neighbor's only";
  EXPECT_TRUE(all_zero(*mapping));
  EXPECT_EQ(neighbor->data()[0], std::byte{9});
}

TEST(Segment, HasNoNameInAnyFileSystem) {
  const auto segment = Segment::create();
  char target[128] = {};
  ASSERT_GT(readlink(segment->address().c_str(), target, sizeof target - 1), 0);
  EXPECT_EQ(std::string(target), "/memfd:syncopate-board (deleted)");
}

TEST(Segment, ThatCannotBeOpenedSaysWhy) {
  expect_refused(ErrorCode::environment, {"/nowhere", "No such file", "launcher"},
                 [] { Segment::open("/nowhere"); });
  expect_refused(ErrorCode::environment, {"/dev/zero"}, [] { Segment::open("/dev/zero"); });
  for (const off_t size : {off_t{0}, off_t{4096}, off_t(Segment::kPage) + 1}) {
    const base::Descriptor odd(memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(odd.number(), size), 0);
    ASSERT_EQ(fcntl(odd.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    expect_refused(ErrorCode::environment, {"is not a board"},
                   [&] { Segment::open("/proc/self/fd/" + std::to_string(odd.number())); });
  }
}

TEST_P(EverySegment, ThatCannotBeMappedSaysSo) {
  const auto segment = GetParam()();
  expect_refused(ErrorCode::out_of_memory, {"cannot map", "MiB"},
                 [&] { segment->map(0, std::size_t{1} << 56); });
}

/// Runs in a process of its own, which the kernel would end with SIGXFSZ if it did not heed the
/// limit: nothing here ignores that signal.
void use_under_a_limit_on_file_sizes() {
  const rlimit limit{.rlim_cur = 5 << 20, .rlim_max = 5 << 20};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto segment = Segment::create();
  const auto other = Segment::open(segment->address());
  segment->map(Segment::kPage, Segment::kPage)->data()[Segment::kPage - 1] = std::byte{42};
  EXPECT_EQ(other->map(Segment::kPage, Segment::kPage)->data()[Segment::kPage - 1], std::byte{42});
  for (const auto& user : {segment, other}) {
    expect_refused(ErrorCode::out_of_memory,
                   {"may have 4 MiB by the limit on file sizes, and now needs 5 MiB", "ulimit -f"},
                   [&] { user->map(2 * Segment::kPage, 1); });
    expect_refused(ErrorCode::out_of_memory, {"ulimit -f"},
                   [&] { user->map(0, 2 * Segment::kPage + 1); });
  }
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST(Segment, KeepsToALimitOnFileSizes) {
  EXPECT_EXIT(use_under_a_limit_on_file_sizes(), ::testing::ExitedWithCode(0), "");
}

TEST(Segment, KnowsWhatMemoryIsLeft) {
  EXPECT_GT(available_memory(), std::uint64_t{1} << 20);
  EXPECT_LT(available_memory(), std::uint64_t{1} << 56);
}

}  // namespace
}  // namespace syncopate::board

// A real control group below this process's own, with little memory: a collective that does not fit
// is refused before the kernel ends a rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "base/control_groups.h"
#include "support/processes.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::uint64_t kLimit = 64 << 20;

bool write(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.flush();
  return out.good();
}

/// A group with `kLimit` bytes in one that this process is in. Gone with the object.
class NestedGroup {
 public:
  NestedGroup() {
    for (const std::string& parent : base::ControlGroups().folders()) {
      const fs::path folder = fs::path(parent) / ("syncopate-test-" + std::to_string(getpid()));
      std::error_code error;
      if (!fs::create_directory(folder, error)) continue;
      if (write(folder / "memory.limit_in_bytes", std::to_string(kLimit)) ||
          write(folder / "memory.max", std::to_string(kLimit))) {
        // And one below without a limit of its own, as a job's step has it.
        folder_ = folder;
        if (fs::create_directory(folder / "step", error)) return;
        fs::remove(folder, error);
        folder_.clear();
        continue;
      }
      fs::remove(folder, error);
    }
  }
  NestedGroup(const NestedGroup&) = delete;
  NestedGroup& operator=(const NestedGroup&) = delete;
  ~NestedGroup() {
    if (folder_.empty()) return;
    std::error_code error;
    fs::remove(folder_ / "step", error);
    fs::remove(folder_, error);
    EXPECT_FALSE(error) << folder_ << ": " << error.message();
  }

  bool made() const { return !folder_.empty(); }
  /// Puts the calling process into it.
  bool enter() const { return write(folder_ / "step" / "cgroup.procs", std::to_string(getpid())); }

 private:
  fs::path folder_;
};

TEST(NestedGroup, RefusesWhatTheKernelWouldEndARankFor) {
  const NestedGroup group;
  if (!group.made()) GTEST_SKIP() << "this process may not make a control group with a limit";
  Processes processes(2, [&](int) {
    ASSERT_TRUE(group.enter());
    World world = World::from_environment();
    world.set_timeout(30s);
    constexpr std::size_t kTooMany = kLimit / sizeof(float);
    expect_refused(ErrorCode::out_of_memory, {"MiB are available"}, [&] {
      PartialAllreduce<float> rounds(world, kTooMany, {.trigger = all(), .scale = Scale::none});
      std::fill_n(rounds.slot(), kTooMany, 1.0F);
      EXPECT_EQ(rounds.exchange().front().sum()[0], 2.0F);
    });
    // A smaller one does.
    constexpr std::size_t kEnough = kTooMany / 16;
    PartialAllreduce<float> rounds(world, kEnough, {.trigger = all(), .scale = Scale::none});
    std::fill_n(rounds.slot(), kEnough, 1.0F);
    EXPECT_EQ(rounds.exchange().front().sum()[kEnough - 1], 2.0F);
  });
  for (const Ending& ending : processes.wait(60s)) {
    EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
  }
}

}  // namespace
}  // namespace syncopate::testing

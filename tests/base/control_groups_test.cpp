// What control groups allow, on folders that a test has made up: v1, v2, both at once, nested, in
// namespaces and containers.
#include "base/control_groups.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace syncopate::base {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr const char* kV2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr const char* kMemoryV1 =
    "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";
constexpr const char* kCpuV1 =
    "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

class ControlGroupsTest : public ::testing::Test {
 protected:
  ControlGroupsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "groups-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~ControlGroupsTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void in(const std::string& memberships, const std::string& mounts) const {
    write("/proc/self/cgroup", memberships);
    write("/proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/root rw\n" + mounts);
  }
  /// A group of v2 under the mount.
  void v2(const std::string& group, const std::string& limit, std::uint64_t used,
          std::uint64_t cached = 0) const {
    const std::string folder = "/sys/fs/cgroup" + group;
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", std::to_string(used) + "\n");
    write(folder + "/memory.stat",
          "anon 1\nfile 99999999\ninactive_file " + std::to_string(cached) + "\nactive_file 5\n");
  }
  void v1(const std::string& group, std::uint64_t limit, std::uint64_t used,
          const std::string& stat = "") const {
    const std::string folder = "/sys/fs/cgroup/memory" + group;
    write(folder + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    write(folder + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    write(folder + "/memory.stat", "cache 7\ninactive_file 8888888\n" + stat);
  }
  std::uint64_t left() const { return ControlGroups(root_).memory_left(); }
  double cores() const { return ControlGroups(root_).cores(); }

  static std::string mib(std::uint64_t count) { return std::to_string(count * kMiB); }

  std::string root_;
};

TEST_F(ControlGroupsTest, ThatAreNotThereLimitNothing) {
  EXPECT_EQ(left(), ControlGroups::kNoLimit);
  EXPECT_EQ(cores(), INFINITY);
  in("0::/\n", "");
  EXPECT_EQ(left(), ControlGroups::kNoLimit);
  in("0::/a/b\n", kV2);
  EXPECT_EQ(left(), ControlGroups::kNoLimit);
  v2("/a/b", "max", 3 * kMiB);
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(left(), ControlGroups::kNoLimit);
  EXPECT_EQ(cores(), INFINITY);
}

TEST_F(ControlGroupsTest, CountFromTheOwnOneToTheRootAndTheLeastHolds) {
  in("0::/job/step/task\n", kV2);
  v2("/job/step/task", "max", 5 * kMiB);
  v2("/job/step", mib(100), 40 * kMiB);
  v2("/job", mib(1000), 980 * kMiB);
  EXPECT_EQ(left(), 20 * kMiB) << "what others of the job use";
  v2("/job", mib(1000), 900 * kMiB);
  EXPECT_EQ(left(), 60 * kMiB);
  v2("/job/step/task", mib(8), 5 * kMiB);
  EXPECT_EQ(left(), 3 * kMiB);
  v2("/job/step/task", mib(8), 9 * kMiB);
  EXPECT_EQ(left(), 0U);
  v2("/job/other", "0", kMiB);
  v2("/job/step/task/below", "0", kMiB);
  v2("/job/step/task", "max", kMiB);
  EXPECT_EQ(left(), 60 * kMiB) << "groups that this process is not in";
  write("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  write("/sys/fs/cgroup/job/step/cpu.max", "800000 100000\n");
  EXPECT_EQ(cores(), 2.5);
}

TEST_F(ControlGroupsTest, DoNotCountCachesAsUsed) {
  in("0::/job\n", kV2);
  v2("/job", mib(100), 90 * kMiB, 70 * kMiB);
  EXPECT_EQ(left(), 80 * kMiB);
  v2("/job", mib(100), 90 * kMiB, 200 * kMiB);
  EXPECT_EQ(left(), 100 * kMiB);
  in("4:memory:/job\n", kMemoryV1);
  v1("/job", 100 * kMiB, 90 * kMiB, "total_inactive_file " + mib(50) + "\n");
  EXPECT_EQ(left(), 60 * kMiB);
}

TEST_F(ControlGroupsTest, OfTheFirstVersionCountToo) {
  in("9:name=systemd:/x\n4:memory:/slurm/uid_0/job_7\n1:cpuacct,cpu:/slurm\n0::/\n",
     std::string(kMemoryV1) + kCpuV1);
  v1("/slurm/uid_0/job_7", 0x7FFFFFFFFFFFF000, kMiB);
  v1("/slurm/uid_0", 64 * kMiB, 2 * kMiB);
  v1("", 0x7FFFFFFFFFFFF000, 900 * kMiB);
  EXPECT_EQ(left(), 62 * kMiB);
  // Where a container shows no group above its own, the kernel still tells the least limit.
  v1("/slurm/uid_0/job_7", 0x7FFFFFFFFFFFF000, kMiB, "hierarchical_memory_limit " + mib(11) + "\n");
  EXPECT_EQ(left(), 10 * kMiB);
  write("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "150000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 1.5);
}

TEST_F(ControlGroupsTest, OfBothVersionsAtOnceAllCount) {
  in("4:memory:/job\n0::/unified\n",
     std::string(kMemoryV1) + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  v1("/job", 50 * kMiB, kMiB);
  write("/sys/fs/cgroup/unified/unified/cpu.max", "300000 100000\n");
  EXPECT_EQ(left(), 49 * kMiB);
  EXPECT_EQ(cores(), 3);
}

TEST_F(ControlGroupsTest, OfAContainerLieWhereItsMountShowsThem) {
  // Without a namespace of its own: its group, with the host's name, is the top of the mount.
  in("0::/docker/0815/worker\n",
     "31 23 0:28 /docker/0815 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  v2("", mib(10), 4 * kMiB);
  v2("/worker", mib(10), kMiB);
  EXPECT_EQ(left(), 6 * kMiB);
  EXPECT_EQ(ControlGroups(root_).folders(),
            (std::vector<std::string>{root_ + "/sys/fs/cgroup/worker", root_ + "/sys/fs/cgroup"}));
  // A name that only begins alike is another group; what is mounted is then all that is known.
  in("0::/docker/08154\n", "31 23 0:28 /docker/0815 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(left(), 6 * kMiB);
  // In a namespace of its own; and moved out of it from outside, or mounted from outside.
  in("0::/\n", kV2);
  EXPECT_EQ(left(), 6 * kMiB);
  in("0::/../other\n", kV2);
  v2("/../other", "0", kMiB);
  EXPECT_EQ(left(), 6 * kMiB);
  in("0::/\n", "31 23 0:28 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(left(), 6 * kMiB);
}

TEST_F(ControlGroupsTest, MayHaveOddNames) {
  in("0::/a:b c/d\n", R"(31 23 0:28 / /sys/fs/c\040group rw shared:1 master:2 - cgroup2 none rw)"
                      "\n");
  write("/sys/fs/c group/a:b c/memory.max", mib(9));
  write("/sys/fs/c group/a:b c/memory.current", "0");
  EXPECT_EQ(left(), 9 * kMiB);
}

TEST_F(ControlGroupsTest, WhoseFilesMakeNoSenseLimitNothing) {
  for (const char* odd :
       {"", "\n", "-5\n", "many\n", "99999999999999999999999\n", "5x\n", "0x10\n"}) {
    in("0::/job\n", kV2);
    v2("/job", odd, kMiB);
    write("/sys/fs/cgroup/job/cpu.max", odd);
    EXPECT_EQ(left(), ControlGroups::kNoLimit) << odd;
    EXPECT_EQ(cores(), INFINITY) << odd;
  }
  in("\n::\nx\n0::\n:::::\n0:/\n", "\n-\n1 2 3\n31 23 0:28 / /x rw - cgroup2\n - cgroup2 a b\n");
  EXPECT_EQ(left(), ControlGroups::kNoLimit);
}

TEST(OwnControlGroups, CanBeRead) {
  EXPECT_GT(ControlGroups().cores(), 0);
  EXPECT_GT(ControlGroups().memory_left(), kMiB);
}

}  // namespace
}  // namespace syncopate::base

// A soak that cannot fail proves nothing: a process that grows is found out, one that does not is
// not.
#include "campaign/samples.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

namespace syncopate::campaign {
namespace {

/// Samples of this very process while it does `step` over and over.
template <typename Step>
std::string verdict_while(const Step& step) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("samples-" + std::to_string(getpid()) + ".jsonl"))
          .string();
  std::string verdict;
  {
    Samples samples(file);
    for (int i = 0; i < 60; ++i) {
      step();
      samples.take(i, "test", "itself", getpid(), std::uint64_t(i));
    }
    verdict = samples.verdict("test", {});
    EXPECT_EQ(samples.lines(), 60U);
  }
  std::filesystem::remove(file);
  return verdict;
}

TEST(SoakSamples, AProcessThatStaysAsItIsPasses) {
  EXPECT_EQ(verdict_while([] {}), "");
}

TEST(SoakSamples, MemoryThatIsNeverFreedIsFound) {
  constexpr std::size_t kEach = 1 << 20;
  std::vector<std::unique_ptr<char[]>> lost;
  const std::string verdict = verdict_while([&] {
    lost.push_back(std::make_unique<char[]>(kEach));
    std::memset(lost.back().get(), 1, kEach);
  });
  EXPECT_NE(verdict.find("memory grew"), std::string::npos) << verdict;
}

TEST(SoakSamples, DescriptorsThatAreNeverClosedAreFound) {
  std::vector<int> lost;
  const std::string verdict =
      verdict_while([&] { lost.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC)); });
  for (const int descriptor : lost) close(descriptor);
  EXPECT_NE(verdict.find("descriptors more"), std::string::npos) << verdict;
}

}  // namespace
}  // namespace syncopate::campaign

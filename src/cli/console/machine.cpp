#include "cli/console/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "board/platform.h"
#include "cli/console/phrases.h"

namespace syncopate::cli {

namespace {

/// The value of the first line "key : value" of a file in /proc.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

}  // namespace

int usable_cores() { return board::make_thread_platform()->cores().count(); }

std::string restricted_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return "";
  if (CPU_COUNT(&mask) >= sysconf(_SC_NPROCESSORS_ONLN)) return "";
  std::string list;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) list += (list.empty() ? "" : ",") + std::to_string(core);
  }
  return list;
}

std::string machine_description() {
  std::string processor = proc_value("/proc/cpuinfo", "model name");
  if (processor.empty()) processor = "unknown processor";
  const double gibibytes =
      double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)) / double(1 << 30);
  utsname system{};
  uname(&system);
  return fmt::format("{}, {}, {:.0f} GiB, {} {}", processor, counted(usable_cores(), "core"),
                     gibibytes, system.sysname, system.release);
}

double copy_bandwidth(int threads) {
  // Larger than the share of any cache one core can have.
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr int kPasses = 9;
  using Clock = std::chrono::steady_clock;

  std::barrier together(threads);
  std::vector<double> seconds(kPasses);
  const auto copy = [&](bool first) {
    std::vector<char> from(kBytes, 1);
    std::vector<char> to(kBytes, 0);
    for (double& pass : seconds) {
      together.arrive_and_wait();
      const auto begin = Clock::now();
      std::memcpy(to.data(), from.data(), kBytes);
      together.arrive_and_wait();
      if (first) pass = std::chrono::duration<double>(Clock::now() - begin).count();
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([&] { copy(false); });
  copy(true);
  others.clear();
  return 2.0 * double(kBytes) * threads / *std::min_element(seconds.begin(), seconds.end()) * 1e-9;
}

}  // namespace syncopate::cli

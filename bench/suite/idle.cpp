#include "bench/suite/idle.h"

#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "bench/peers/measure.h"
#include "bench/peers/statistics.h"
#include "bench/suite/ours.h"

namespace syncopate::cli::bench {

namespace {

constexpr int kRounds = 16;
/// What is still awake after the last round has gone to sleep by then.
constexpr double kSettleMilliseconds = 200;

/// What this process has taken so far, all threads together.
struct Usage {
  double processor_us = 0;
  double wakeups = 0;  // how often a thread gave up its core by itself, to go on later

  static Usage now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto microseconds = [](const timeval& time) {
      return double(time.tv_sec) * 1e6 + double(time.tv_usec);
    };
    return {.processor_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
            .wakeups = double(usage.ru_nvcsw)};
  }
};

}  // namespace

nlohmann::json measure_idle(World world, const peers::Workload& work) {
  const auto ranks = std::size_t(world.size());
  const auto rank = std::size_t(world.rank());
  const std::size_t bytes = work.bytes.front();
  PartialAllreduce<float> exchange(world, bytes / sizeof(float), {.trigger = all()});
  for (int i = 0; i < kRounds; ++i) exchange.exchange().pass();
  world.barrier();

  peers::sleep_milliseconds(kSettleMilliseconds);
  const auto begin = peers::Clock::now();
  const Usage before = Usage::now();
  peers::sleep_milliseconds(work.seconds * 1e3);
  const Usage after = Usage::now();
  const double elapsed_us = peers::microseconds_since(begin);
  // The rank that comes back first would wake the others' agents.
  peers::sleep_milliseconds(kSettleMilliseconds);

  std::vector<double> percent(ranks), wakeups(ranks);
  percent[rank] = (after.processor_us - before.processor_us) / elapsed_us * 100;
  wakeups[rank] = (after.wakeups - before.wakeups) / (elapsed_us * 1e-6);
  Ours together(world);
  together.total(std::span<double>(percent));
  together.total(std::span<double>(wakeups));
  exchange.finish([](const Round<float>&) {});
  return {{"bytes", bytes},
          {"core_percent_mean", peers::mean(percent)},
          {"core_percent_most", *std::max_element(percent.begin(), percent.end())},
          {"wakeups_per_second_mean", peers::mean(wakeups)},
          {"wakeups_per_second_most", *std::max_element(wakeups.begin(), wakeups.end())},
          {"seconds", work.seconds},
          {"library", together.library()}};
}

}  // namespace syncopate::cli::bench

#include "bench/suite/tax.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/text.h"
#include "bench/peers/measure.h"
#include "bench/peers/statistics.h"
#include "bench/suite/ours.h"

namespace syncopate::cli::bench {

namespace {

using peers::Clock;
using peers::microseconds_since;

/// The most rounds the others run ahead of the computing rank before they wait for it.
constexpr int kWindow = base::kLargestWindow;

/// A fixed piece of arithmetic on an array that stays in the first-level cache.
class Computation {
 public:
  // Never inlined: the same code wherever it is timed.
  [[gnu::noinline]] void run(long sweeps) {
    for (long i = 0; i < sweeps; ++i) {
      for (float& value : values_) value = value * 0.999F + 0.001F;
      // Each sweep must really be made.
      asm volatile("" : : "r"(values_.data()) : "memory");
    }
  }

  /// How many sweeps take so long on this machine. The fastest of several tries.
  long sweeps_in(double microseconds) {
    constexpr long kProbe = 2000;
    double fastest = 1e12;
    for (int i = 0; i < 20; ++i) {
      const auto begin = Clock::now();
      run(kProbe);
      fastest = std::min(fastest, microseconds_since(begin));
    }
    return std::max(1L, long(microseconds / fastest * kProbe));
  }

 private:
  std::array<float, 2048> values_{};
};

enum class Others {
  parked,  ///< wait for rank 0 and do nothing
  busy,    ///< do arithmetic: what a neighbor core that works costs, without the library
  rounds,  ///< run rounds one after another, triggered by the first
};

/// Threads of this process, from the kernel.
int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Threads:")) continue;
    return base::number<int>(line.substr(line.find_last_of(" \t:") + 1)).value_or(0);
  }
  return 0;
}

/// Time by the clock, and processor time of this thread, which leaves out what other programs
/// on the machine take from it.
struct Spent {
  double clock_us = 0;
  double processor_us = 0;
};

double processor_microseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) * 1e-3;
}

struct Series {
  std::vector<double> clock_us;
  std::vector<double> processor_us;

  void add(const Spent& spent) {
    clock_us.push_back(spent.clock_us);
    processor_us.push_back(spent.processor_us);
  }
};

double slowdown_percent(const std::vector<double>& slow, const std::vector<double>& fast) {
  return (peers::median(slow) / peers::median(fast) - 1) * 100;
}

class Tax {
 public:
  Tax(World world, const TaxWork& work) : world_(std::move(world)), work_(work) {}

  nlohmann::json measure() {
    sweeps_ = computation_.sweeps_in(work_.seconds * 1e6);
    step_ = std::max(1L, sweeps_ / kFewestSteps);
    finding_ = true;
    compute_while(Others::rounds);
    finding_ = false;
    rounds_ = 0;
    rounds_us_ = 0;
    steps_ = full_ = 0;
    Series parked, busy, rounds;
    for (int i = 0; i < work_.repetitions; ++i) {
      parked.add(compute_while(Others::parked));
      busy.add(compute_while(Others::busy));
      rounds.add(compute_while(Others::rounds));
    }
    return {
        {"bytes", work_.bytes},
        {"median_us", peers::median(rounds.clock_us)},
        {"p99_us", peers::quantile(rounds.clock_us, 0.99)},
        {"mean_us", peers::mean(rounds.clock_us)},
        {"parked_us", peers::median(parked.clock_us)},
        {"busy_us", peers::median(busy.clock_us)},
        {"slowdown_percent", slowdown_percent(rounds.clock_us, parked.clock_us)},
        {"slowdown_over_busy_percent", slowdown_percent(rounds.clock_us, busy.clock_us)},
        {"processor_slowdown_percent", slowdown_percent(rounds.processor_us, parked.processor_us)},
        {"rounds_per_second", double(rounds_) / (rounds_us_ * 1e-6)},
        {"window_full_percent", 100.0 * full_ / std::max(1, steps_)},
        {"threads", threads_}};
  }

 private:
  /// Rank 0 computes and returns how long it took; the others do as they are told until it has
  /// finished.
  Spent compute_while(Others others) {
    Gong gong(world_);
    std::optional<PartialAllreduce<float>> exchange;
    if (others == Others::rounds) {
      exchange.emplace(world_, work_.bytes / sizeof(float),
                       PartialOptions{.trigger = first(), .window = kWindow});
    }
    world_.barrier();
    Spent spent;
    if (world_.rank() == 0) {
      spent = compute(exchange ? &*exchange : nullptr);
      gong.agree();
    } else {
      gong.agree();
      keep_going(others, gong, exchange ? &*exchange : nullptr);
    }
    if (exchange) exchange->finish([](const Round<float>&) {});
    gong.wait();
    return spent;
  }

  /// All sweeps, in steps, which are as many whatever the others do: to begin one takes time too.
  /// Between two steps this rank takes part in the rounds, untimed, as in training. Steps are made
  /// shorter until the others no longer fill the window meanwhile.
  Spent compute(PartialAllreduce<float>* exchange) {
    const long shortest = std::max(1L, sweeps_ / kMostSteps);
    Spent spent;
    const auto begin = Clock::now();
    for (long left = sweeps_; left > 0;) {
      const long sweeps = std::min(step_, left);
      left -= sweeps;
      const auto start = Clock::now();
      const double processor_start = processor_microseconds();
      computation_.run(sweeps);
      spent.processor_us += processor_microseconds() - processor_start;
      spent.clock_us += microseconds_since(start);
      if (exchange == nullptr) continue;
      const std::size_t rounds = exchange->exchange().size();
      rounds_ += rounds;
      ++steps_;
      if (rounds >= kWindow) ++full_;
      if (finding_ && rounds >= kWindow / 2) step_ = std::max(shortest, step_ / 2);
    }
    if (exchange != nullptr) rounds_us_ += microseconds_since(begin);
    threads_ = std::max(threads_, threads_of_this_process());
    return spent;
  }

  void keep_going(Others others, Gong& gong, PartialAllreduce<float>* exchange) {
    constexpr long kFewSweeps = 100;
    if (others == Others::parked) return;
    while (!gong.everyone_agrees()) {
      if (exchange != nullptr) {
        exchange->exchange().pass();
      } else {
        computation_.run(kFewSweeps);
      }
    }
  }

  static constexpr long kFewestSteps = 50;
  static constexpr long kMostSteps = 2000;

  World world_;
  TaxWork work_;
  Computation computation_;
  long sweeps_ = 0;
  bool finding_ = false;    // … the step, before anything is measured
  long step_ = 0;           // sweeps that rank 0 makes without looking up
  std::size_t rounds_ = 0;  // that rank 0 saw
  double rounds_us_ = 0;    // in which they were run
  int steps_ = 0;           // of rank 0 while the others ran rounds
  int full_ = 0;            // of these, in which the others came to the end of the window
  int threads_ = 0;
};

}  // namespace

nlohmann::json measure_tax(World world, const TaxWork& work) {
  return Tax(std::move(world), work).measure();
}

}  // namespace syncopate::cli::bench

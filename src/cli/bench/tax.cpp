#include "cli/bench/tax.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "bench/peers/measure.h"
#include "bench/peers/statistics.h"
#include "cli/bench/ours.h"

namespace syncopate::cli::bench {

namespace {

using peers::Clock;
using peers::microseconds_since;

/// A fixed piece of arithmetic on an array that stays in the first-level cache.
class Computation {
 public:
  void run(long sweeps) {
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
  busy,    ///< do arithmetic: what a neighbour core that works costs, without the library
  rounds,  ///< run rounds one after another, triggered by the first
};

/// Threads of this process, from the kernel.
int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

class Tax {
 public:
  Tax(World world, const TaxWork& work) : world_(std::move(world)), work_(work) {}

  nlohmann::json measure() {
    constexpr double kSliceMicroseconds = 10'000;
    slice_ = computation_.sweeps_in(kSliceMicroseconds);
    slices_ = std::max(1, int(work_.seconds * 1e6 / kSliceMicroseconds));
    std::vector<double> parked, busy, rounds;
    for (int i = 0; i < work_.repetitions; ++i) {
      parked.push_back(compute_while(Others::parked));
      busy.push_back(compute_while(Others::busy));
      rounds.push_back(compute_while(Others::rounds));
    }
    const double alone = peers::median(parked);
    const double beside = peers::median(busy);
    const double taxed = peers::median(rounds);
    return {{"bytes", work_.bytes},
            {"median_us", taxed},
            {"p99_us", peers::quantile(rounds, 0.99)},
            {"mean_us", peers::mean(rounds)},
            {"parked_us", alone},
            {"busy_us", beside},
            {"slowdown_percent", (taxed / alone - 1) * 100},
            {"slowdown_over_busy_percent", (taxed / beside - 1) * 100},
            {"rounds_per_second", double(rounds_) / (rounds_microseconds_ * 1e-6)},
            {"window_full_percent", 100.0 * full_ / std::max(1, slices_run_)},
            {"threads", threads_}};
  }

 private:
  /// Rank 0 computes its slices and returns their time; the others do as they are told until
  /// rank 0 has finished. Between two slices rank 0 takes part in the rounds, untimed, as a
  /// training step does.
  double compute_while(Others others) {
    Gong gong(world_);
    std::optional<PartialAllreduce<float>> exchange;
    if (others == Others::rounds) {
      exchange.emplace(world_, work_.bytes / sizeof(float),
                       PartialOptions{.trigger = first(), .window = kTaxWindow});
    }
    world_.barrier();
    double microseconds = 0;
    if (world_.rank() == 0) {
      const auto begin = Clock::now();
      for (int i = 0; i < slices_; ++i) {
        const auto slice = Clock::now();
        computation_.run(slice_);
        microseconds += microseconds_since(slice);
        if (exchange) count_rounds(exchange->exchange().size());
      }
      if (exchange) rounds_microseconds_ += microseconds_since(begin);
      threads_ = std::max(threads_, threads_of_this_process());
      gong.agree();
    } else {
      gong.agree();
      keep_going(others, gong, exchange);
    }
    if (exchange) exchange->finish([](const Round<float>&) {});
    gong.wait();
    return microseconds;
  }

  void keep_going(Others others, Gong& gong, std::optional<PartialAllreduce<float>>& exchange) {
    constexpr long kFewSweeps = 100;
    if (others == Others::parked) return;
    while (!gong.everyone_agrees()) {
      if (exchange) {
        exchange->exchange();
      } else {
        computation_.run(kFewSweeps);
      }
    }
  }

  void count_rounds(std::size_t rounds) {
    rounds_ += rounds;
    ++slices_run_;
    if (rounds >= kTaxWindow) ++full_;
  }

  World world_;
  TaxWork work_;
  Computation computation_;
  long slice_ = 0;
  int slices_ = 0;
  std::size_t rounds_ = 0;
  double rounds_microseconds_ = 0;
  int slices_run_ = 0;
  int full_ = 0;
  int threads_ = 0;
};

}  // namespace

nlohmann::json measure_tax(World world, const TaxWork& work) {
  return Tax(std::move(world), work).measure();
}

}  // namespace syncopate::cli::bench

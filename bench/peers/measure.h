// The measuring loops, written once and run by every side, so that all are timed alike.
//
// A side is a class with rank(), ranks(), library(), barrier(), total(values) (sums a vector
// over the ranks, untimed), open(elements), buffer(), exchange(consume), others_done(step,
// planned), expect(result, iteration), rounds() and close(), which returns what else there is to
// say about the rounds. `consume` is called with each result while it is valid. Those who wait for
// everyone derive from Synchronous (synchronous.h).
//
// The time of an iteration is the mean over the ranks of the time of the call (OSU's
// convention); the statistics are over iterations.
#pragma once

#include <chrono>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "statistics.h"
#include "values.h"
#include "workload.h"

namespace peers {

using Clock = std::chrono::steady_clock;

inline double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

inline void sleep_milliseconds(double milliseconds) {
  if (milliseconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
  }
}

inline nlohmann::json describe(std::size_t bytes, const std::vector<double>& microseconds) {
  return {{"bytes", bytes},
          {"iterations", microseconds.size()},
          {"median_us", median(microseconds)},
          {"p99_us", quantile(microseconds, 0.99)},
          {"mean_us", mean(microseconds)}};
}

/// Sums each entry over the ranks and divides by how many of them put something in.
template <typename Side>
void average_over_ranks(Side& side, std::vector<double>& values, int contributing) {
  side.total(std::span<double>(values));
  for (double& value : values) value /= contributing;
}

/// Reads every element, as an optimizer would. Returns the sum so that it cannot be left out.
inline float read_all(std::span<const float> values) {
  float sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

/// One call without skew: the values rewritten (if asked for) and a barrier before it, untimed.
template <typename Side>
double plain_call(Side& side, const Workload& work, std::size_t elements) {
  if (work.touch) fill_values({side.buffer(), elements}, side.rank());
  volatile float sink = 0;
  side.barrier();
  const auto begin = Clock::now();
  side.exchange([&](std::span<const float> result) {
    if (work.read) sink = read_all(result);
  });
  const double elapsed = microseconds_since(begin);
  static_cast<void>(sink);
  return elapsed;
}

template <typename Side>
void verify_sum(Side& side, std::size_t elements) {
  fill_values({side.buffer(), elements}, side.rank());
  side.exchange([&](std::span<const float> result) { check_values(result, side.ranks()); });
}

/// Warms up and, if the work is bounded by time, agrees on the number of iterations.
template <typename Side>
int agree_on_iterations(Side& side, const Workload& work, std::size_t elements) {
  constexpr double kFewest = 10;
  constexpr double kMost = 50'000;
  constexpr std::size_t kLarge = std::size_t{2} << 20;  // elements; one call warms these enough
  const int warmup = elements < kLarge ? std::max(work.warmup, 1) : std::max(work.warmup / 5, 1);
  std::vector<double> each;
  for (int i = 0; i < warmup; ++i) {
    const auto begin = Clock::now();
    plain_call(side, work, elements);
    each.push_back(microseconds_since(begin));
  }
  if (work.iterations > 0) return work.iterations;
  // The median, because the first calls open connections and touch pages.
  std::vector<double> usual = {median(each)};
  average_over_ranks(side, usual, side.ranks());
  return int(std::clamp(work.seconds * 1e6 / usual[0], kFewest, kMost));
}

/// What a measuring loop saw on this rank.
struct Observed {
  std::vector<double> times;  // microseconds; of each iteration, or of each step with Skew::chronic
  double elapsed = 0;         // of all steps together
  double calls = 0;           // of these, within calls
};

template <typename Side>
Observed measure_plain(Side& side, const Workload& work, std::size_t elements) {
  verify_sum(side, elements);
  if (!work.touch) std::fill_n(side.buffer(), elements, 0.0F);
  Observed observed;
  observed.times.resize(std::size_t(agree_on_iterations(side, work, elements)));
  for (double& time : observed.times) time = plain_call(side, work, elements);
  verify_sum(side, elements);
  return observed;
}

/// The eager-SGD paper's microbenchmark.
template <typename Side>
Observed measure_arrival(Side& side, const Workload& work, std::size_t elements) {
  Observed observed;
  for (std::size_t i = 0; i < std::size_t(work.iterations); ++i) {
    mark_values({side.buffer(), elements}, i);
    side.barrier();
    sleep_milliseconds(side.rank() * work.skew_ms);
    const auto begin = Clock::now();
    side.exchange([&](std::span<const float> result) { side.expect(result, i); });
    observed.times.push_back(microseconds_since(begin));
  }
  side.barrier();
  return observed;
}

/// One rank is always slow. Times are those of whole steps, sleep and call.
template <typename Side>
Observed measure_chronic(Side& side, const Workload& work, std::size_t elements) {
  const auto planned = std::size_t(work.iterations);
  const bool slow = side.rank() == 0;
  Observed observed;
  side.barrier();
  const auto start = Clock::now();
  for (std::size_t i = 0; slow ? !side.others_done(i, planned) : i < planned; ++i) {
    const auto begin = Clock::now();
    mark_values({side.buffer(), elements}, i);
    sleep_milliseconds(slow ? work.slow_ms : work.fast_ms);
    const auto called = Clock::now();
    side.exchange([&](std::span<const float> result) { side.expect(result, i); });
    observed.calls += microseconds_since(called);
    observed.times.push_back(microseconds_since(begin));
  }
  observed.elapsed = microseconds_since(start);
  // The slow rank's own steps are not what is asked for.
  if (slow) observed = {.times = std::vector<double>(planned, 0)};
  return observed;
}

template <typename Side>
nlohmann::json measure(Side& side, const Workload& work, std::size_t bytes) {
  const std::size_t elements = bytes / sizeof(float);
  const bool chronic = work.skew == Skew::chronic;
  side.open(elements);
  Observed observed = work.skew == Skew::none ? measure_plain(side, work, elements)
                      : chronic               ? measure_chronic(side, work, elements)
                                              : measure_arrival(side, work, elements);
  const double rounds = observed.elapsed > 0 ? double(side.rounds()) : 0;
  nlohmann::json row = side.close();

  const int observers = chronic ? side.ranks() - 1 : side.ranks();
  average_over_ranks(side, observed.times, observers);
  row.update(describe(bytes, observed.times));
  if (chronic) {
    std::vector<double> means = {observed.elapsed, rounds, observed.calls};
    average_over_ranks(side, means, observers);
    row["rounds_per_second"] = means[1] / (means[0] * 1e-6);
    row["call_mean_us"] = means[2] / double(observed.times.size());
  }
  return row;
}

/// Runs all sizes; rank 0 hands a row for each to `take`.
template <typename Side, typename Take>
void run(Side& side, const Workload& work, const Take& take) {
  for (const std::size_t bytes : work.bytes) {
    nlohmann::json row = measure(side, work, bytes);
    if (side.rank() != 0) continue;
    row["library"] = side.library();
    take(row);
  }
}

/// The same; rank 0 prints a line of JSON for each.
template <typename Side>
void run(Side& side, const Workload& work) {
  run(side, work, [](const nlohmann::json& row) {
    std::printf("%s\n", row.dump().c_str());
    std::fflush(stdout);
  });
}

}  // namespace peers

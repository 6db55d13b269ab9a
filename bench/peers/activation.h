// How long one rank's arrival takes to become a result that every rank has, written once for all
// sides. The ranks take turns in arriving, so that every rank is the root of what spreads it.
//
// Besides what measure.h asks for, a side has meet(arrives): the rank that arrives brings what
// is in buffer(), the others come for the result; it returns when this rank had it, and throws if
// the result is not what that rank brought. A side may know when this rank's machine took part in
// it (taken_part()). All clocks must be one: the ranks are on one host.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure.h"

namespace peers {

inline double microseconds(Clock::time_point time) {
  return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count();
}

/// Pauses differ by up to a millisecond, evenly: what sleeps and looks again now and then, counted
/// from the barrier, is met at any moment of its sleep.
inline double pause_milliseconds(const Workload& work, int iteration) {
  constexpr double kGoldenSection = 0.6180339887498949;
  return work.skew_ms + std::fmod(iteration * kGoldenSection, 1.0);
}

/// One column of `times` for each rank, put together: what the others have in it is zero.
template <typename Side>
std::vector<double> of_all_ranks(Side& side, const std::vector<double>& times) {
  std::vector<double> all(times.size() * std::size_t(side.ranks()));
  std::copy(times.begin(), times.end(), all.begin() + std::ptrdiff_t(times.size()) * side.rank());
  side.total(std::span<double>(all));
  return all;
}

/// From each arrival to what was last on all ranks; `columns` are of_all_ranks().
inline std::vector<double> until_last(const std::vector<double>& arrived,
                                      const std::vector<double>& columns) {
  std::vector<double> times;
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    double last = 0;
    for (std::size_t at = i; at < columns.size(); at += arrived.size()) {
      last = std::max(last, columns[at]);
    }
    times.push_back(last - arrived[i]);
  }
  return times;
}

struct Activations {
  std::vector<double> there;       ///< Until the last rank had the result.
  std::vector<double> taken_part;  ///< Until the last machine took part, where the side knows.
};

template <typename Side>
Activations measure_activation(Side& side, const Workload& work, std::size_t elements) {
  constexpr bool kKnows = requires { side.taken_part(); };
  const auto count = std::size_t(work.iterations);
  std::vector<double> arrived(count), there(count), taken_part(kKnows ? count : 0);
  for (int i = -work.warmup; i < work.iterations; ++i) {
    const bool arrives = side.rank() == (i + work.warmup) % side.ranks();
    std::fill_n(side.buffer(), elements, arrives ? 1.0F : 0.0F);
    side.barrier();
    if (arrives) sleep_milliseconds(pause_milliseconds(work, i + work.warmup));
    const double began = microseconds(Clock::now());
    const double ended = microseconds(side.meet(arrives));
    if (i < 0) continue;
    arrived[std::size_t(i)] = arrives ? began : 0;
    there[std::size_t(i)] = ended;
    if constexpr (kKnows) taken_part[std::size_t(i)] = microseconds(side.taken_part());
  }
  side.total(std::span<double>(arrived));
  return {.there = until_last(arrived, of_all_ranks(side, there)),
          .taken_part =
              kKnows ? until_last(arrived, of_all_ranks(side, taken_part)) : std::vector<double>()};
}

/// All sizes; rank 0 prints one line of JSON for each.
template <typename Side>
void run_activation(Side& side, const Workload& work) {
  for (const std::size_t bytes : work.bytes) {
    side.open(bytes / sizeof(float));
    const Activations times = measure_activation(side, work, bytes / sizeof(float));
    nlohmann::json row = side.close();
    row.update(describe(bytes, times.there));
    if (!times.taken_part.empty()) {
      row["taken_part_median_us"] = median(times.taken_part);
      row["taken_part_p99_us"] = quantile(times.taken_part, 0.99);
    }
    row["library"] = side.library();
    if (side.rank() == 0) std::printf("%s\n", row.dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace peers

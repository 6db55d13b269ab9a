// What the processes of a soak use over time, sampled from the kernel, and the verdict on it:
// memory, descriptors and threads of a process must not grow while it does the same over and over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace syncopate::campaign {

struct Sample {
  double at = 0;          ///< Seconds since the soak began.
  long anonymous_kb = 0;  ///< Memory of its own.
  long shared_kb = 0;     ///< Memory of the board that it has touched.
  int descriptors = 0;
  int threads = 0;
  std::uint64_t rounds = 0;  ///< That it has read; 0 where that is not known.
};

/// How much a process may grow from its first quarter, once warm, to its last, peak against peak.
struct Bounds {
  double share = 0.05;
  long kb = 2048;
  int descriptors = 2;
  int threads = 1;
};

class Samples {
 public:
  explicit Samples(const std::string& file);
  ~Samples();
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  /// Looks at a process and writes a line; nothing if it is gone.
  void take(double at, const std::string& job, const std::string& who, pid_t process,
            std::uint64_t rounds);

  /// What grew beyond its bounds among the processes of `job`; empty if nothing did.
  std::string verdict(const std::string& job, const Bounds& bounds) const;

  /// The largest growth of any process of `job`, for the result.
  struct Growth {
    long anonymous_kb = 0;
    long shared_kb = 0;
    int descriptors = 0;
    int threads = 0;
    int processes = 0;  ///< That lived long enough to be judged.
  };
  Growth growth(const std::string& job) const;
  std::uint64_t lines() const { return lines_; }

 private:
  std::FILE* file_;
  std::uint64_t lines_ = 0;
  std::map<std::string, std::map<std::string, std::vector<Sample>>> jobs_;
};

/// From the peak of the first quarter, once warm, to that of the last.
Samples::Growth growth_of(const std::vector<Sample>& samples);
/// Fewer samples than this say nothing about a trend.
inline constexpr std::size_t kFewestSamples = 20;

}  // namespace syncopate::campaign

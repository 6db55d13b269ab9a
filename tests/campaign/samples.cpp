#include "campaign/samples.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace syncopate::campaign {

namespace fs = std::filesystem;

namespace {

/// The number after `name:` in /proc/PID/status.
long field(const std::string& status, const std::string& name) {
  const auto at = status.find("\n" + name + ":");
  return at == std::string::npos ? 0
                                 : std::strtol(status.c_str() + at + name.size() + 2, nullptr, 10);
}

/// What nine of ten samples do not exceed. What a job uses goes up and down with what it does, so
/// that medians of two quarters differ by chance; their peaks do not, and a leak lifts them as
/// well.
template <typename Value>
auto peak(std::vector<Sample>::const_iterator first, std::vector<Sample>::const_iterator last,
          const Value& value) {
  std::vector<decltype(value(*first))> values;
  for (; first != last; ++first) values.push_back(value(*first));
  const auto place = values.begin() + std::ptrdiff_t(values.size() * 9 / 10);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

Samples::Samples(const std::string& file) : file_(std::fopen(file.c_str(), "w")) {
  if (file_ == nullptr) throw std::runtime_error("cannot write " + file);
}

Samples::~Samples() { std::fclose(file_); }

void Samples::take(double at, const std::string& job, const std::string& who, pid_t process,
                   std::uint64_t rounds) {
  const fs::path place = "/proc/" + std::to_string(process);
  std::ifstream stream(place / "status");
  std::ostringstream text;
  text << stream.rdbuf();
  const std::string status = text.str();
  std::error_code gone;
  const fs::directory_iterator descriptors(place / "fd", gone);
  if (gone || status.find("\nVmRSS:") == std::string::npos) return;
  const Sample sample{.at = at,
                      .anonymous_kb = field(status, "RssAnon"),
                      .shared_kb = field(status, "RssShmem"),
                      .descriptors = int(std::distance(descriptors, fs::directory_iterator())),
                      .threads = int(field(status, "Threads")),
                      .rounds = rounds};
  jobs_[job][who].push_back(sample);
  ++lines_;
  std::fprintf(file_,
               "{\"seconds\":%.1f,\"job\":\"%s\",\"who\":\"%s\",\"pid\":%d,\"anonymous_kb\":%ld,"
               "\"shared_kb\":%ld,\"descriptors\":%d,\"threads\":%d,\"rounds\":%llu}\n",
               at, job.c_str(), who.c_str(), int(process), sample.anonymous_kb, sample.shared_kb,
               sample.descriptors, sample.threads, static_cast<unsigned long long>(rounds));
  std::fflush(file_);
}

Samples::Growth growth_of(const std::vector<Sample>& samples) {
  // The first fifth is for warming up: pages are touched, pools are filled.
  const auto warm = samples.begin() + std::ptrdiff_t(samples.size() / 5);
  const std::ptrdiff_t quarter = (samples.end() - warm) / 4;
  const auto grown = [&](const auto& value) {
    return peak(samples.end() - quarter, samples.end(), value) - peak(warm, warm + quarter, value);
  };
  return {.anonymous_kb = grown([](const Sample& one) { return one.anonymous_kb; }),
          .shared_kb = grown([](const Sample& one) { return one.shared_kb; }),
          .descriptors = grown([](const Sample& one) { return one.descriptors; }),
          .threads = grown([](const Sample& one) { return one.threads; }),
          .processes = 1};
}

std::string Samples::verdict(const std::string& job, const Bounds& bounds) const {
  std::string problems;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return "  no samples of " + job + "\n";
  for (const auto& [who, samples] : found->second) {
    if (samples.size() < kFewestSamples) continue;
    const Growth growth = growth_of(samples);
    const auto allowed = [&](long now) { return bounds.kb + long(double(now) * bounds.share); };
    const std::string name = "  " + job + ", " + who + ": ";
    if (growth.anonymous_kb > allowed(samples.back().anonymous_kb)) {
      problems += name + "its own memory grew by " + std::to_string(growth.anonymous_kb) + " kB\n";
    }
    if (growth.shared_kb > allowed(samples.back().shared_kb)) {
      problems += name + "shared memory grew by " + std::to_string(growth.shared_kb) + " kB\n";
    }
    if (growth.descriptors > bounds.descriptors) {
      problems += name + std::to_string(growth.descriptors) + " descriptors more\n";
    }
    if (growth.threads > bounds.threads) {
      problems += name + std::to_string(growth.threads) + " threads more\n";
    }
  }
  return problems;
}

Samples::Growth Samples::growth(const std::string& job) const {
  Growth most;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return most;
  for (const auto& [who, samples] : found->second) {
    if (samples.size() < kFewestSamples) continue;
    const Growth one = growth_of(samples);
    most.anonymous_kb = std::max(most.anonymous_kb, one.anonymous_kb);
    most.shared_kb = std::max(most.shared_kb, one.shared_kb);
    most.descriptors = std::max(most.descriptors, one.descriptors);
    most.threads = std::max(most.threads, one.threads);
    most.processes += 1;
  }
  return most;
}

}  // namespace syncopate::campaign

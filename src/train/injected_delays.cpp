#include "train/injected_delays.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>

#include "base/durations.h"
#include "round/trigger.h"
#include "train/refusal.h"

namespace syncopate::train {
namespace {

using base::duration;

/// Longer than any run; a few of them can be added.
constexpr Duration kLongest = std::chrono::hours(24 * 365);

/// Comments in a trace may be long; a file without any line is not read to its end.
constexpr std::size_t kLongestLine = 10'000;
constexpr std::size_t kMostTimes = 10'000'000;

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  line = line.substr(0, line.find('#'));
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line.substr(0, line.find_last_not_of(kBlanks) + 1);
}

/// Reads a line, or the beginning of one that is too long.
bool read_line(std::istream& text, std::string& line) {
  line.clear();
  for (int c = text.get(); c != std::istream::traits_type::eof(); c = text.get()) {
    if (c == '\n') return true;
    line += char(c);
    if (line.size() > kLongestLine) return true;
  }
  return !line.empty();
}

Duration capped(double nanoseconds) {
  return Duration(std::llround(std::min(nanoseconds, static_cast<double>(kLongest.count()))));
}

/// Above 0 and below 1.
double fraction(std::uint64_t random) {
  return (static_cast<double>(random >> 12) + 0.5) * 0x1p-52;
}

/// Drawn from the standard normal distribution (Box and Muller).
double normal(std::uint64_t random) {
  const double turn = 2 * std::numbers::pi * fraction(round::mix(random, 0));
  return std::sqrt(-2 * std::log(fraction(random))) * std::cos(turn);
}

std::vector<Duration> read_file(const std::string& file) {
  errno = 0;
  std::ifstream stream(file);
  stream.peek();  // A folder can be opened, and not read.
  if (!stream.is_open() || stream.bad()) {
    refuse("The trace " + in_quotes(file) + " cannot be read: " + std::strerror(errno),
           "Name a text file with one step time per line");
  }
  stream.clear();
  return read_step_times(stream, file);
}

void check(const Imbalance& imbalance, int ranks) {
  if (const auto* random = std::get_if<Imbalance::Random>(&imbalance.form)) {
    if (random->ranks <= ranks) return;
    refuse("The imbalance " + in_quotes(to_string(imbalance)) + " delays " +
               std::to_string(random->ranks) + " ranks in each step, but there are only " +
               std::to_string(ranks),
           "Delay at most " + std::to_string(ranks));
  }
  if (const auto* persistent = std::get_if<Imbalance::Persistent>(&imbalance.form)) {
    for (const auto& slow : persistent->slow) {
      if (slow.rank < ranks) continue;
      refuse("The imbalance " + in_quotes(to_string(imbalance)) + " slows rank " +
                 std::to_string(slow.rank) + ", but there are only " + std::to_string(ranks),
             "Name ranks from 0 to " + std::to_string(ranks - 1));
    }
  }
}

}  // namespace

std::vector<Duration> read_step_times(std::istream& text, const std::string& name) {
  std::vector<Duration> times;
  std::string line;
  for (int at = 1; read_line(text, line); ++at) {
    const std::string_view written = trimmed(line);
    if (written.empty() && line.size() <= kLongestLine) continue;
    auto time = duration(written);
    if (!time) time = duration(std::string(written) + "ms");
    if (!time || line.size() > kLongestLine) {
      refuse(name + ":" + std::to_string(at) + ": " + in_quotes(written) + " is not a step time",
             "Write one time per line, in milliseconds or with a unit, such as 12.5 or 900us");
    }
    if (times.size() == kMostTimes) {
      refuse("The trace " + in_quotes(name) + " has more than " + std::to_string(kMostTimes) +
                 " step times",
             "Give fewer: ranks go round in it");
    }
    times.push_back(*time);
  }
  if (times.empty()) {
    refuse("The trace " + in_quotes(name) + " has no step times", "Write one time per line");
  }
  return times;
}

InjectedDelays::InjectedDelays(Imbalance imbalance, int ranks, int rank, std::uint64_t seed)
    // The seed is mixed once more, because a trainer draws other things from the same one.
    : imbalance_(std::move(imbalance)),
      ranks_(ranks),
      rank_(rank),
      seed_(round::mix(seed, 0x77656174686572)) {
  check(imbalance_, ranks);
  if (const auto* trace = std::get_if<Imbalance::Trace>(&imbalance_.form)) {
    trace_ = read_file(trace->file);
  }
}

bool InjectedDelays::is_struck(std::uint64_t step, int struck) const {
  // Every rank draws a lot for every other; the lowest are struck. Ties go to the lower rank.
  const std::uint64_t mine = round::mix(seed_, step, rank_);
  int lower = 0;
  for (int other = 0; other < ranks_; ++other) {
    const std::uint64_t lot = round::mix(seed_, step, other);
    if (lot < mine || (lot == mine && other < rank_)) ++lower;
  }
  return lower < struck;
}

Duration InjectedDelays::length(std::uint64_t step, Duration undisturbed) const {
  if (const auto* random = std::get_if<Imbalance::Random>(&imbalance_.form)) {
    return is_struck(step, random->ranks) ? undisturbed + random->delay : undisturbed;
  }
  if (const auto* shift = std::get_if<Imbalance::Shift>(&imbalance_.form)) {
    const int place = static_cast<int>((step % ranks_ + rank_) % ranks_);
    const Duration range = shift->most - shift->least;
    const int gaps = std::max(1, ranks_ - 1);
    return undisturbed + shift->least + base::share(range, place, gaps);
  }
  if (const auto* persistent = std::get_if<Imbalance::Persistent>(&imbalance_.form)) {
    for (const auto& slow : persistent->slow) {
      if (slow.rank == rank_) return capped(slow.factor * static_cast<double>(undisturbed.count()));
    }
  }
  if (const auto* lognormal = std::get_if<Imbalance::Lognormal>(&imbalance_.form)) {
    const double stretch = std::exp(lognormal->sigma * normal(round::mix(seed_, step, rank_)));
    return std::max(undisturbed, capped(stretch * static_cast<double>(lognormal->median.count())));
  }
  if (!trace_.empty()) {
    const std::size_t start = trace_.size() * rank_ / ranks_;
    return std::max(undisturbed, trace_[(start + step % trace_.size()) % trace_.size()]);
  }
  return undisturbed;
}

}  // namespace syncopate::train

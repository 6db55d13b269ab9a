#include "train/imbalance.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

#include "base/durations.h"
#include "train/refusal.h"

namespace syncopate::train {
namespace {

using base::duration;
using base::number;

constexpr double kLargestFactor = 1e6;
constexpr double kLargestSigma = 10;

/// The text of one imbalance, which every error quotes in full.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// `part` before and after `mark`.
  std::pair<std::string_view, std::string_view> split(std::string_view part, std::string_view mark,
                                                      const char* form) const {
    const auto at = part.find(mark);
    if (at == std::string_view::npos) {
      refuse("The imbalance " + in_quotes(text_) + " lacks a " + in_quotes(mark),
             std::string("Write it as ") + form);
    }
    return {part.substr(0, at), part.substr(at + mark.size())};
  }

  Duration time(std::string_view part) const {
    const auto value = duration(part);
    if (!value) {
      wrong(in_quotes(part) + " is not a duration",
            "Use a number that is not negative with its unit, such as 20ms or 500us");
    }
    return *value;
  }

  /// A number from `least` to `most`, which `allowed` says in words.
  template <typename Number>
  Number within(std::string_view part, Number least, Number most, const char* what,
                const char* allowed) const {
    const auto value = number<Number>(part);
    if (!value || !(*value >= least && *value <= most)) {
      wrong(in_quotes(part) + " is not " + what, std::string("Use ") + allowed);
    }
    return *value;
  }

  [[noreturn]] void wrong(const std::string& what, const std::string& what_to_do) const {
    refuse("In the imbalance " + in_quotes(text_) + ", " + what, what_to_do);
  }

 private:
  std::string_view text_;
};

constexpr int kMostRanks = std::numeric_limits<int>::max();

Imbalance::Random read_random(const Reader& reader, std::string_view text) {
  const auto [ranks, delay] = reader.split(text, "x", "random:KxTIME, such as random:1x20ms");
  return {.ranks = reader.within(ranks, 1, kMostRanks, "a number of ranks",
                                 "a whole number from 1 to the number of ranks"),
          .delay = reader.time(delay)};
}

Imbalance::Shift read_shift(const Reader& reader, std::string_view text) {
  const auto [least, most] = reader.split(text, "..", "shift:MIN..MAX, such as shift:5..40ms");
  Imbalance::Shift shift{.most = reader.time(most)};
  // The unit may be written once, at the end.
  const bool shared_unit = number<double>(least).has_value();
  const auto unit = most.substr(most.find_last_of("0123456789.") + 1);
  shift.least =
      reader.time(shared_unit ? std::string(least) + std::string(unit) : std::string(least));
  if (shift.least > shift.most) {
    reader.wrong("the first delay is longer than the second",
                 "Write the shorter one first, such as shift:5..40ms");
  }
  return shift;
}

Imbalance::Persistent read_persistent(const Reader& reader, std::string_view text) {
  Imbalance::Persistent persistent;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const auto [rank, factor] = reader.split(text.substr(begin, end - begin), "*",
                                             "persistent:RANK*FACTOR, such as persistent:0*8+1*2");
    const Imbalance::Persistent::Slow slow{
        .rank = reader.within(rank, 0, kMostRanks, "a rank", "a whole number from 0"),
        .factor =
            reader.within(factor, 1.0, kLargestFactor, "a factor", "a number from 1 to 1000000")};
    for (const auto& other : persistent.slow) {
      if (other.rank != slow.rank) continue;
      reader.wrong("rank " + std::to_string(slow.rank) + " comes twice", "Name each rank once");
    }
    persistent.slow.push_back(slow);
    begin = end + 1;
  }
  return persistent;
}

Imbalance::Lognormal read_lognormal(const Reader& reader, std::string_view text) {
  const auto [median, sigma] =
      reader.split(text, ",", "lognormal:MEDIAN,SIGMA, such as lognormal:10ms,0.8");
  return {.median = reader.time(median),
          .sigma = reader.within(sigma, 0.0, kLargestSigma, "a sigma", "a number from 0 to 10")};
}

Imbalance::Trace read_trace(std::string_view file) {
  if (file.empty()) {
    refuse("The imbalance \"trace:\" names no file", "Write it as trace:FILE");
  }
  return {.file = std::string(file)};
}

/// Without an exponent, whose plus sign would part the list of ranks. Factors are not so large
/// that it would get long.
std::string without_exponent(double factor) {
  std::array<char, 32> text;
  const auto [end, error] =
      std::to_chars(text.begin(), text.end(), factor, std::chars_format::fixed);
  return {text.begin(), end};
}

std::string write(const Imbalance::None&) { return "none"; }

std::string write(const Imbalance::Random& random) {
  return "random:" + std::to_string(random.ranks) + "x" + base::to_string(random.delay);
}

std::string write(const Imbalance::Shift& shift) {
  const base::Unit& unit =
      base::unit_of(Duration(std::gcd(shift.least.count(), shift.most.count())));
  return "shift:" + std::to_string(shift.least.count() / unit.nanoseconds) + ".." +
         std::to_string(shift.most.count() / unit.nanoseconds) + std::string(unit.suffix);
}

std::string write(const Imbalance::Persistent& persistent) {
  std::string text;
  for (const auto& slow : persistent.slow) {
    text += text.empty() ? "persistent:" : "+";
    text += std::to_string(slow.rank) + "*" + without_exponent(slow.factor);
  }
  return text;
}

std::string write(const Imbalance::Lognormal& lognormal) {
  return "lognormal:" + base::to_string(lognormal.median) + "," + base::shortest(lognormal.sigma);
}

std::string write(const Imbalance::Trace& trace) { return "trace:" + trace.file; }

}  // namespace

Imbalance Imbalance::parse(std::string_view text) {
  if (text == "none") return {};
  const Reader reader(text);
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view name = text.substr(0, colon);
    const std::string_view rest = text.substr(colon + 1);
    if (name == "random") return {read_random(reader, rest)};
    if (name == "shift") return {read_shift(reader, rest)};
    if (name == "persistent") return {read_persistent(reader, rest)};
    if (name == "lognormal") return {read_lognormal(reader, rest)};
    if (name == "trace") return {read_trace(rest)};
  }
  refuse(in_quotes(text) + " is not an imbalance",
         "Use none, random:KxTIME, shift:MIN..MAX, persistent:RANK*FACTOR, lognormal:MEDIAN,SIGMA "
         "or trace:FILE");
}

std::string to_string(const Imbalance& imbalance) {
  return std::visit([](const auto& form) { return write(form); }, imbalance.form);
}

}  // namespace syncopate::train

// The choices that make a partial collective: when a round starts (Trigger, Grace), what
// becomes of work that missed it (LatePolicy), and what the sum is divided by (Scale).
// All are plain values; a collective checks them, and that all ranks agree, when it is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace syncopate {

using Duration = std::chrono::nanoseconds;

/// When a round starts. At least one rank must be waiting for it, and then:
struct Trigger {
  enum class Kind : std::uint8_t {
    all,       ///< every live rank has a deposit on the board
    first,     ///< any rank has one
    majority,  ///< the rank drawn for this round has one
    count,     ///< `count` ranks have one (all live ranks, if fewer are left)
  };
  Kind kind = Kind::all;
  int count = 0;           ///< For Kind::count: between 1 and the number of ranks.
  std::uint64_t seed = 1;  ///< For Kind::majority: the seed of the draw, the same on every rank.

  /// Reads "all", "first", "majority", "majority:SEED" or "count:K"; throws Error for others.
  static Trigger parse(std::string_view text);
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

std::string to_string(const Trigger& trigger);

inline Trigger all() { return {}; }
inline Trigger first() { return {.kind = Trigger::Kind::first}; }
inline Trigger majority(std::uint64_t seed = 1) {
  return {.kind = Trigger::Kind::majority, .seed = seed};
}
inline Trigger count(int ranks) { return {.kind = Trigger::Kind::count, .count = ranks}; }

/// How long a round stays open once its trigger holds; it starts at once when all have come.
struct Grace {
  Duration fixed{0};
  double share = 0;  ///< If above 0: this share of the running median step time instead.

  /// Reads "off", "auto", "auto:SHARE" or a duration such as "2ms"; throws Error for others.
  static Grace parse(std::string_view text);
  friend bool operator==(const Grace&, const Grace&) = default;
};

std::string to_string(const Grace& grace);

inline Grace no_grace() { return {}; }
inline Grace grace(Duration duration) { return {.fixed = duration}; }
inline Grace automatic_grace(double share = 0.15) { return {.share = share}; }

/// What becomes of a deposit that missed the round it was meant for.
struct LatePolicy {
  static constexpr std::uint64_t forever = std::numeric_limits<std::uint64_t>::max();
  /// A deposit is summed while its staleness (rounds between the model it was computed on
  /// and the round that takes it) is below this; otherwise it is dropped and reported.
  std::uint64_t younger_than = forever;

  /// Reads "carry", "drop" or "drop-older-than:R"; throws Error for others.
  static LatePolicy parse(std::string_view text);
  friend bool operator==(const LatePolicy&, const LatePolicy&) = default;
};

std::string to_string(const LatePolicy& policy);

inline LatePolicy carry() { return {}; }
inline LatePolicy drop() { return {.younger_than = 1}; }
inline LatePolicy drop_older_than(std::uint64_t rounds) { return {.younger_than = rounds}; }

/// What the sum of a round is divided by.
enum class Scale : std::uint8_t {
  none,          ///< nothing: the result is the sum
  ranks,         ///< the number of ranks in the world, present or not
  contributors,  ///< the number of ranks whose deposit is in the round
  weight,        ///< the total weight in the round (the result is zeros if that is 0)
};

const char* to_string(Scale scale);

}  // namespace syncopate

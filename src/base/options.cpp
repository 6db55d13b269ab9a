#include "base/options.h"

#include <cmath>

#include "base/durations.h"
#include "syncopate/error.h"

namespace syncopate {

const char* to_string(LateMerge late) { return late == LateMerge::average ? "average" : "keep"; }

}  // namespace syncopate

namespace syncopate::base {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongestGrace = 1h;
/// Far above any model, and far below where sizes in bytes would overflow.
constexpr std::size_t kMostElements = std::size_t{1} << 40;

[[noreturn]] void refuse(const std::string& what, const std::string& allowed) {
  throw Error(ErrorCode::invalid_argument, what, allowed);
}

/// `value` may be any number: it was cast, or read from memory that something has written over.
template <typename Enumerator>
void check_known(const char* what, Enumerator value, Enumerator last) {
  if (value <= last) return;
  refuse(std::string("the ") + what + " is number " + std::to_string(static_cast<int>(value)) +
             ", which there is not",
         std::string("Give a ") + what + " by its name");
}

void check(const Trigger& trigger, int ranks) {
  check_known("trigger", trigger.kind, Trigger::Kind::count);
  if (trigger.kind != Trigger::Kind::count) return;
  if (trigger.count >= 1 && trigger.count <= ranks) return;
  refuse("the trigger count(" + std::to_string(trigger.count) + ") in a world of " +
             std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"),
         "Give a count from 1 to " + std::to_string(ranks));
}

void check(const Grace& grace) {
  if (grace.fixed < 0ns || grace.fixed > kLongestGrace) {
    refuse("the grace is " + std::to_string(grace.fixed.count()) + " ns",
           "Give a duration from 0 to one hour");
  }
  if (!std::isfinite(grace.share) || grace.share < 0 || grace.share > 10) {
    refuse("the share of automatic grace is " + std::to_string(grace.share),
           "Give a share of the step time from 0 to 10");
  }
}

void check_window(int window) {
  if (window >= 1 && window <= kLargestWindow) return;
  refuse("the window is " + std::to_string(window),
         "Give a number of rounds from 1 to " + std::to_string(kLargestWindow));
}

}  // namespace

void check_elements(std::size_t elements) {
  if (elements <= kMostElements) return;
  refuse("a collective of " + std::to_string(elements) + " elements",
         "Give at most " + std::to_string(kMostElements));
}

void check_buffer(const char* purpose, const void* values, std::size_t given,
                  std::size_t elements) {
  const bool null = values == nullptr && given > 0;
  if (given == elements && !null) return;
  refuse(std::string("the buffer ") + purpose +
             (null ? " is null"
                   : " has " + std::to_string(given) + " elements and the collective " +
                         std::to_string(elements)),
         "Give a buffer of " + std::to_string(elements) + " elements");
}

void check_weight(double weight, double largest) {
  if (weight == 0 || (weight >= kSmallestWeight && weight <= largest)) return;
  refuse("the weight of a deposit is " + shortest(weight),
         "Give 0 or a finite number that is not negative, from " + shortest(kSmallestWeight) +
             " to " + shortest(largest));
}

void check(DataType type) { check_known("data type", type, DataType::float16); }

void check(const PartialOptions& options, int ranks) {
  check(options.trigger, ranks);
  check_known("scale", options.scale, Scale::weight);
  check(options.grace);
  check_window(options.window);
  if (options.late.younger_than == 0) {
    refuse("the late policy drops deposits older than 0 rounds, which is all of them",
           "Give drop_older_than a number of rounds of at least 1");
  }
}

void check_values(const GroupOptions& options, int ranks) {
  if (options.group_size < 0 || options.group_size > ranks) {
    refuse("the group size is " + std::to_string(options.group_size) + " in a world of " +
               std::to_string(ranks),
           "Give a size from 1 to " + std::to_string(ranks) + ", or 0 for the square root");
  }
  if (options.synchronize_every < 0 || options.synchronize_every > kLargestWindow) {
    refuse("synchronize_every is " + std::to_string(options.synchronize_every),
           "Give a number of steps from 0 (never) to " + std::to_string(kLargestWindow));
  }
  check_known("trigger", options.trigger.kind, Trigger::Kind::count);
  check_known("late merge", options.late, LateMerge::keep);
  if (options.trigger.kind != Trigger::Kind::first && options.trigger.kind != Trigger::Kind::all) {
    refuse("the trigger of a group is " + to_string(options.trigger), "Give first or all");
  }
  check(options.grace);
  if (options.window != 0) check_window(options.window);
}

std::string describe(std::size_t elements, DataType type, const PartialOptions& options) {
  return "partial allreduce of " + std::to_string(elements) + " " + to_string(type) + ", trigger " +
         to_string(options.trigger) + ", grace " + to_string(options.grace) + ", late " +
         to_string(options.late) + ", scale " + to_string(options.scale) + ", window " +
         std::to_string(options.window);
}

std::string describe(std::size_t elements, DataType type, const GroupOptions& options) {
  return "group average of " + std::to_string(elements) + " " + to_string(type) + ", groups of " +
         std::to_string(options.group_size) + (options.rotate ? " that rotate" : " that stay") +
         ", all together every " + std::to_string(options.synchronize_every) + ", trigger " +
         to_string(options.trigger) + ", grace " + to_string(options.grace) + ", late " +
         to_string(options.late) + ", window " + std::to_string(options.window) + ", seed " +
         std::to_string(options.seed);
}

}  // namespace syncopate::base

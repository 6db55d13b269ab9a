#include "explorer/small_plans.h"

#include <vector>

namespace syncopate::testing {
namespace {

using Kind = Action::Kind;

Plan world(std::size_t elements, const Trigger& trigger, std::vector<std::vector<Kind>> actions) {
  Plan plan;
  plan.ranks = static_cast<int>(actions.size());
  plan.elements = elements;
  plan.options.trigger = trigger;
  plan.options.window = 1;
  plan.ends.assign(plan.ranks, End::finish);
  for (const auto& kinds : actions) {
    auto& rank = plan.actions.emplace_back();
    for (const Kind kind : kinds) rank.push_back({.kind = kind});
  }
  return plan;
}

Plan with(Plan plan, const LatePolicy& late, int window = 1) {
  plan.options.late = late;
  plan.options.window = window;
  return plan;
}

Plan leaving(Plan plan, int rank) {
  plan.ends[rank] = End::leave;
  return plan;
}

/// Rank 0 comes later; ranks give up after these times (0: never).
Plan late(Plan plan, Time computing, std::vector<Time> timeouts = {}, int window = 1) {
  plan.actions[0][0].computing = computing;
  plan.timeouts = std::move(timeouts);
  plan.options.window = window;
  return plan;
}

constexpr Time kMillisecond = 1'000'000;

std::vector<SmallPlan> pairs() {
  return {
      {"pair-first", world(3, first(), {{Kind::exchange, Kind::exchange}, {Kind::exchange}}), 2},
      {"pair-all", world(3, all(), {{Kind::exchange}, {Kind::exchange}}), 2},
      {"pair-majority", world(1, majority(3), {{Kind::exchange}, {Kind::exchange}}), 2},
      {"pair-count", world(3, count(2), {{Kind::exchange}, {Kind::wait}}), 2},
      {"pair-start", world(1, first(), {{Kind::start, Kind::exchange}, {Kind::exchange}}), 2},
      {"pair-merge", world(1, first(), {{Kind::start, Kind::start, Kind::start}, {Kind::exchange}}),
       2},
      {"pair-poll", world(1, first(), {{Kind::poll}, {Kind::poll}}), 2},
      {"pair-drop",
       with(world(1, first(), {{Kind::exchange}, {Kind::exchange, Kind::exchange}}), drop()), 2},
      {"pair-window",
       with(world(1, first(), {{Kind::exchange, Kind::exchange, Kind::exchange}, {Kind::start}}),
            carry(), 2),
       2},
      {"pair-leave", leaving(world(3, all(), {{Kind::exchange}, {Kind::exchange}}), 1), 2},
      {"pair-empty", world(1, count(2), {{Kind::empty}, {Kind::exchange}}), 2},
  };
}

/// Rounds that two ranks settle between themselves.
std::vector<SmallPlan> settled_pairs() {
  return {
      {"pair-settle",
       world(1, all(), {{Kind::exchange, Kind::exchange}, {Kind::exchange, Kind::exchange}}), 2},
      {"pair-settle-start",
       world(1, all(),
             {{Kind::exchange, Kind::start, Kind::exchange}, {Kind::exchange, Kind::wait}}),
       2},
      {"pair-settle-leave",
       leaving(world(2, all(), {{Kind::exchange}, {Kind::exchange, Kind::exchange}}), 0), 2},
      {"pair-settle-empty",
       world(2, all(), {{Kind::exchange, Kind::empty}, {Kind::exchange, Kind::exchange}}), 2},
      {"pair-settle-late",
       late(world(1, all(), {{Kind::exchange}, {Kind::exchange, Kind::start, Kind::start}}),
            kMillisecond),
       2},
      {"pair-settle-given-up",
       late(world(1, all(), {{Kind::exchange, Kind::start, Kind::start}, {Kind::exchange}}),
            10 * kMillisecond, {0, 10 * kMillisecond}),
       2},
      {"pair-settle-both-give-up",
       late(world(2, all(), {{Kind::exchange, Kind::exchange}, {Kind::exchange, Kind::exchange}}),
            10 * kMillisecond, {10 * kMillisecond, 10 * kMillisecond}),
       2},
      {"pair-settle-again",
       late(world(1, all(),
                  {{Kind::exchange, Kind::start, Kind::exchange},
                   {Kind::exchange, Kind::start, Kind::exchange}}),
            10 * kMillisecond, {10 * kMillisecond, 10 * kMillisecond}, 3),
       2},
  };
}

std::vector<SmallPlan> trios() {
  return {
      {"trio-first", world(1, first(), {{Kind::exchange}, {Kind::exchange}, {Kind::exchange}}), 1},
      {"trio-all", world(3, all(), {{Kind::exchange}, {Kind::exchange}, {Kind::exchange}}), 1},
      {"trio-majority",
       world(1, majority(7), {{Kind::exchange}, {Kind::exchange}, {Kind::exchange}}), 1},
      {"trio-count", world(1, count(2), {{Kind::exchange}, {Kind::start}, {Kind::exchange}}), 1},
  };
}

}  // namespace

std::span<const SmallPlan> small_plans() {
  static const std::vector<SmallPlan> plans = [] {
    std::vector<SmallPlan> all = pairs();
    for (const auto& more : {settled_pairs(), trios()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return plans;
}

}  // namespace syncopate::testing

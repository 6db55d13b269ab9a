#include "explorer/group_plan.h"

#include <algorithm>

#include "group/exchange.h"
#include "group/options.h"

namespace syncopate::testing {
namespace {

constexpr Time kMillisecond = 1'000'000;
/// About how many steps of the protocol an average takes: where faults are placed.
constexpr int kStepsPerAverage = 90;

constexpr Step kTelling[] = {Step::reduce,  Step::reduce, Step::done,  Step::claim, Step::publish,
                             Step::decide,  Step::decide, Step::start, Step::retry, Step::deposit,
                             Step::release, Step::wake,   Step::park};

/// Durations around those that the protocol has: its inspection and its patience.
Time draw_duration(Random& random) {
  constexpr Time kDurations[] = {1, 5, 19, 20, 21, 49, 50, 51, 120, 400};
  return kDurations[random.below(std::size(kDurations))] * kMillisecond;
}

void draw_faults(Random& random, GroupPlan& plan) {
  const int faults = random.between(1, plan.ranks);
  int deaths = 0;
  for (int i = 0; i < faults; ++i) {
    const bool deadly = random.one_in(3) && deaths + 1 < plan.ranks;
    deaths += deadly ? 1 : 0;
    Machine::Fault fault{
        .kind = deadly ? Machine::Fault::Kind::die : Machine::Fault::Kind::stop,
        .rank = random.below(plan.ranks),
        .step = std::uint64_t(random.between(1, plan.all_steps() * kStepsPerAverage)),
        .duration = draw_duration(random)};
    if (random.one_in(2)) {
      fault.at = kTelling[random.below(std::size(kTelling))];
      fault.step = random.between(1, 6);
    }
    plan.faults.push_back(fault);
  }
}

GroupPlan small(int ranks, std::size_t elements, const GroupOptions& options, int steps) {
  GroupPlan plan;
  plan.ranks = ranks;
  plan.elements = elements;
  plan.options = group::complete(options, ranks);
  plan.steps.assign(ranks, steps);
  plan.calls.assign(ranks, GroupPlan::Call::in_place);
  plan.computing.assign(ranks, 0);
  return plan;
}

}  // namespace

GroupPlan GroupPlan::draw(Random& random) {
  GroupOptions options;
  const int ranks = random.between(2, 4);
  options.group_size = random.between(1, std::min(3, ranks));
  options.synchronize_every = random.one_in(2) ? 0 : random.between(1, 3);
  options.window = random.between(1, 3);
  options.trigger = random.one_in(4) ? all() : first();
  options.rotate = !random.one_in(6);
  options.late = random.one_in(2) ? LateMerge::average : LateMerge::keep;
  options.seed = random.below(100);
  const bool timed = random.one_in(4);
  if (timed && random.one_in(2)) {
    options.grace =
        random.one_in(3) ? automatic_grace(0.5) : grace(Duration(draw_duration(random)));
  }
  GroupPlan plan = small(ranks, random.between(1, 5), options, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    plan.steps[rank] = random.between(1, ranks == 4 ? 4 : 6);
    plan.calls[rank] = static_cast<Call>(random.below(3));
    if (timed && random.one_in(2)) plan.computing[rank] = draw_duration(random);
  }
  if (random.one_in(2)) draw_faults(random, plan);
  // A clock that runs while ranks do makes slow helpers look like stopped ones.
  if (random.one_in(8)) plan.tick = random.one_in(2) ? kMillisecond : kMillisecond / 20;
  if (random.one_in(8)) plan.wake_early = random.between(2, 5);
  return plan;
}

std::vector<GroupPlan> small_group_plans() {
  return {small(2, 3, {.group_size = 2, .synchronize_every = 0, .window = 1}, 3),
          small(2, 3,
                {.group_size = 2, .synchronize_every = 0, .late = LateMerge::keep, .window = 2}, 4),
          small(2, 3, {.group_size = 2, .synchronize_every = 2, .window = 2}, 3),
          small(2, 1, {.group_size = 1, .synchronize_every = 2}, 3),
          small(2, 1, {.group_size = 2, .synchronize_every = 0, .trigger = all()}, 2),
          small(3, 3, {.group_size = 3, .synchronize_every = 0, .window = 2}, 2),
          small(3, 1, {.group_size = 2, .synchronize_every = 3, .window = 2}, 3),
          small(4, 3,
                {.group_size = 2, .synchronize_every = 0, .late = LateMerge::keep, .window = 3}, 3),
          small(4, 1, {.group_size = 2, .synchronize_every = 2}, 2)};
}

bool GroupPlan::timeless() const {
  return faults.empty() && tick == 0 && options.grace == no_grace() &&
         std::all_of(computing.begin(), computing.end(), [](Time time) { return time == 0; });
}

int GroupPlan::all_steps() const {
  int sum = 0;
  for (const int count : steps) sum += count;
  return sum;
}

std::string GroupPlan::describe() const {
  std::string text =
      std::to_string(ranks) + " ranks in groups of " + std::to_string(options.group_size) + ", " +
      std::to_string(elements) + " elements, everyone every " +
      std::to_string(options.synchronize_every) + ", window " + std::to_string(options.window) +
      ", trigger " + syncopate::to_string(options.trigger) + ", grace " +
      syncopate::to_string(options.grace) + ", late " + syncopate::to_string(options.late) +
      ", tick " + std::to_string(tick) + " ns" + (wake_early > 0 ? ", early wake-ups" : "") + "\n";
  constexpr const char* kCalls[] = {"in place", "copied", "in halves"};
  for (int rank = 0; rank < ranks; ++rank) {
    text += "  rank " + std::to_string(rank) + ": " + std::to_string(steps[rank]) + " steps " +
            kCalls[static_cast<int>(calls[rank])] + ", computing " +
            std::to_string(computing[rank] / kMillisecond) + " ms\n";
  }
  for (const Machine::Fault& fault : faults) text += "  " + to_string(fault) + "\n";
  return text;
}

}  // namespace syncopate::testing

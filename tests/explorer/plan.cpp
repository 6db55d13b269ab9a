#include "explorer/plan.h"

#include <algorithm>

namespace syncopate::testing {
namespace {

constexpr Time kMillisecond = 1'000'000;
/// Two bits per deposit have to fit into what a double holds exactly (see Ledger).
constexpr int kMostDeposits = 24;
constexpr int kMostDepositsInFloats = 12;
/// About how many steps a schedule takes per deposit and rank: where faults are placed.
constexpr int kStepsPerDeposit = 80;

/// Steps where a fault is most likely to hurt.
constexpr Step kTelling[] = {Step::reduce,  Step::reduce, Step::done,    Step::claim,
                             Step::publish, Step::decide, Step::advance, Step::deposit,
                             Step::merge,   Step::start,  Step::retry,   Step::release};

const char* name(Action::Kind kind) {
  switch (kind) {
    case Action::Kind::exchange:
      return "exchange";
    case Action::Kind::start:
      return "start";
    case Action::Kind::poll:
      return "poll";
    case Action::Kind::wait:
      return "wait";
    case Action::Kind::empty:
      return "empty";
  }
  return "?";
}

Trigger draw_trigger(Random& random, int ranks) {
  switch (random.below(5)) {
    case 0:
      return all();
    case 1:
    case 2:
      return first();
    case 3:
      return majority(random.next());
    default:
      return count(random.between(1, ranks));
  }
}

LatePolicy draw_late(Random& random) {
  switch (random.below(4)) {
    case 0:
      return drop();
    case 1:
      return drop_older_than(random.between(1, 3));
    default:
      return carry();
  }
}

std::uint64_t draw_beginning(Random& random) {
  switch (random.below(12)) {
    case 0:
      return (std::uint64_t{1} << 12) - 2;
    case 1:
      return (std::uint64_t{1} << 20) - 2;
    case 2:
      return (std::uint64_t{1} << 32) - 2;
    case 3:
      return (std::uint64_t{1} << 40) + random.below(100);
    default:
      return 0;
  }
}

/// Durations around those that the protocol has: its inspection and its patience.
Time draw_duration(Random& random) {
  constexpr Time kDurations[] = {1, 5, 19, 20, 21, 49, 50, 51, 120, 400};
  return kDurations[random.below(std::size(kDurations))] * kMillisecond;
}

Action draw_action(Random& random, bool plain, bool timed) {
  Action action;
  if (!plain) {
    constexpr Action::Kind kKinds[] = {Action::Kind::exchange, Action::Kind::exchange,
                                       Action::Kind::start,    Action::Kind::poll,
                                       Action::Kind::wait,     Action::Kind::empty};
    action.kind = kKinds[random.below(std::size(kKinds))];
    action.copied = random.one_in(3);
    if (random.one_in(4)) action.weight = 2;
  }
  if (timed && random.one_in(2)) action.computing = draw_duration(random);
  return action;
}

void draw_faults(Random& random, Plan& plan) {
  const int steps = plan.ranks * (plan.deposits() + plan.ranks) * kStepsPerDeposit / 2;
  const int faults = random.one_in(3) ? 2 : 1;
  int deaths = 0;
  for (int i = 0; i < faults; ++i) {
    const bool deadly = random.one_in(2) && deaths + 1 < plan.ranks;
    deaths += deadly ? 1 : 0;
    Machine::Fault fault{.kind = deadly ? Machine::Fault::Kind::die : Machine::Fault::Kind::stop,
                         .rank = random.below(plan.ranks),
                         .step = std::uint64_t(random.between(1, steps)),
                         .duration = draw_duration(random)};
    if (random.one_in(2)) {
      fault.at = kTelling[random.below(std::size(kTelling))];
      fault.step = random.between(1, 5);
    }
    plan.faults.push_back(fault);
  }
}

}  // namespace

Plan Plan::draw(Random& random) {
  Plan plan;
  const bool settling = random.one_in(5);  // Two ranks that settle rounds between themselves.
  plan.ranks = settling ? 2 : random.between(2, 4);
  plan.elements = random.between(1, settling ? 2 : 7);
  plan.options.trigger = settling ? all() : draw_trigger(random, plan.ranks);
  plan.options.late = settling ? carry() : draw_late(random);
  plan.options.window = random.between(1, 3);
  const bool timed = random.one_in(4);
  if (timed && random.one_in(2)) {
    plan.options.grace =
        random.one_in(3) ? automatic_grace(0.5) : grace(Duration(draw_duration(random)));
  }
  plan.begin_after = draw_beginning(random);
  const bool plain = random.one_in(3);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    std::vector<Action> actions(random.between(plan.ranks == 4 ? 1 : 2, plan.ranks == 2 ? 6 : 4));
    for (Action& action : actions) action = draw_action(random, plain, timed);
    plan.actions.push_back(std::move(actions));
    plan.ends.push_back(random.one_in(6) ? End::leave : End::finish);
  }
  if (plan.deposits() <= kMostDepositsInFloats && random.one_in(2)) plan.type = DataType::float32;
  if (random.one_in(2)) draw_faults(random, plan);
  // A clock that runs while ranks do makes slow helpers look like stopped ones.
  if (random.one_in(8)) plan.tick = random.one_in(2) ? kMillisecond : kMillisecond / 20;
  if (random.one_in(8)) plan.wake_early = random.between(2, 5);
  if (random.one_in(6)) {
    for (int rank = 0; rank < plan.ranks; ++rank) {
      plan.timeouts.push_back(random.one_in(3) ? 0 : draw_duration(random));
    }
  }
  return plan;
}

int Plan::deposits() const {
  int count = 0;
  for (const auto& rank : actions) {
    for (const Action& action : rank) count += action.kind == Action::Kind::empty ? 0 : 1;
  }
  return std::min(count, kMostDeposits);
}

bool Plan::has_empty() const {
  return std::any_of(actions.begin(), actions.end(), [](const std::vector<Action>& rank) {
    return std::any_of(rank.begin(), rank.end(),
                       [](const Action& action) { return action.kind == Action::Kind::empty; });
  });
}

bool Plan::timeless() const {
  if (!faults.empty() || !timeouts.empty() || tick > 0 || options.grace != no_grace()) return false;
  return std::all_of(actions.begin(), actions.end(), [](const std::vector<Action>& rank) {
    return std::all_of(rank.begin(), rank.end(),
                       [](const Action& action) { return action.computing == 0; });
  });
}

bool Plan::deadly() const {
  return std::any_of(faults.begin(), faults.end(), [](const Machine::Fault& fault) {
    return fault.kind == Machine::Fault::Kind::die;
  });
}

std::string Plan::describe() const {
  std::string text =
      std::to_string(ranks) + " ranks, " + std::to_string(elements) + " " +
      syncopate::to_string(type) + ", trigger " + syncopate::to_string(options.trigger) +
      ", late " + syncopate::to_string(options.late) + ", grace " +
      syncopate::to_string(options.grace) + ", window " + std::to_string(options.window) +
      ", after round " + std::to_string(begin_after) + ", tick " + std::to_string(tick) + " ns" +
      (wake_early > 0 ? ", early wake-ups" : "") + "\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += "  rank " + std::to_string(rank) + ":";
    for (const Action& action : actions[rank]) {
      if (action.computing > 0) {
        text += " compute " + std::to_string(action.computing / kMillisecond) + "ms,";
      }
      text += std::string(" ") + name(action.kind) +
              (action.weight > 1 ? " x" + std::to_string(action.weight) : "") + ",";
    }
    text += ends[rank] == End::finish ? " finish\n" : " leave\n";
  }
  for (const Machine::Fault& fault : faults) text += "  " + to_string(fault) + "\n";
  for (std::size_t rank = 0; rank < timeouts.size(); ++rank) {
    text += "  rank " + std::to_string(rank) + " gives up after " +
            std::to_string(timeouts[rank] / kMillisecond) + " ms (0: never)\n";
  }
  return text;
}

}  // namespace syncopate::testing

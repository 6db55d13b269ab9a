#include "explorer/group_play.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "kernel/kernel.h"

namespace syncopate::testing {
namespace {

using group::Board;
using group::Exchange;

/// Longer than anything that a plan lets happen: a rank that reaches it waited for nothing.
const Duration kTimeout = std::chrono::hours(1);
constexpr std::uint64_t kMostStepsOfAll = 200'000;
constexpr int kBase = 16;
constexpr double kPoison = -1e12;  ///< What a slot holds while no rank may read it.

}  // namespace

GroupPlay::GroupPlay() : body_([this](int rank) { act(rank); }) {}

double GroupPlay::value(int rank, int step, std::size_t element) const {
  return (1 + (step + 5 * static_cast<int>(element)) % (kBase - 3)) * std::pow(kBase, rank);
}

const std::string& GroupPlay::run(const GroupPlan& plan, Machine::Scheduler& scheduler,
                                  bool trace) {
  plan_ = &plan;
  trace_ = trace;
  failure_.clear();
  exchanges_.clear();
  rounds_ = {};
  last_step_ = {};
  step_ = {};
  left_ = leaving_ = waiting_ = 0;
  rounds_run_ = 0;
  schedule_ = std::make_unique<round::GroupSchedule>(plan.ranks, plan.options.group_size,
                                                     plan.options.rotate, plan.options.seed);
  stage_.set(plan.ranks);
  const auto shape = group::Shape::of(plan.elements, DataType::float64, plan.ranks, plan.options);
  exchanges_ = stage_.make<Exchange>(shape.bytes(), [&](int rank, std::byte* memory) {
    std::vector<double> initial(plan.elements);
    for (std::size_t e = 0; e < plan.elements; ++e) initial[e] = value(rank, 0, e);
    merges_[rank] = {plan.options.late, initial};
    return std::make_unique<Exchange>(stage_.roster(rank), stage_.platform(rank), kTimeout, memory,
                                      shape, initial.data(), plan.options);
  });
  Machine& machine = stage_.machine();
  machine.observe(this);
  machine.limit_steps(kMostStepsOfAll);
  machine.tick(plan.tick);
  machine.wake_early(plan.wake_early);
  for (const Machine::Fault& fault : plan.faults) machine.add_fault(fault);
  close(machine.run(plan.ranks, scheduler, body_));
  return failure_;
}

bool GroupPlay::everyone_at(int step) const {
  return plan_->options.synchronize_every > 0 && step % plan_->options.synchronize_every == 0;
}

int GroupPlay::group_of(int step, int rank) const {
  return everyone_at(step) ? 0 : schedule_->group_of(step - 1, rank);
}

Ranks GroupPlay::members_of(int step, int group) const {
  Ranks members = 0;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if (group_of(step, rank) == group) members |= bit(rank);
  }
  return members;
}

/// Ranks that none may count on any more: those known to be dead, and those that have left.
Ranks GroupPlay::gone() const {
  Ranks ranks = left_;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if (!exchanges_[rank]->board().participants.counts(rank)) ranks |= bit(rank);
  }
  return ranks;
}

void GroupPlay::look(int rank, Step at) {
  if (trace_) {
    std::printf("%8llu  %6.1f ms  rank %d in step %d  %s\n",
                static_cast<unsigned long long>(stage_.machine().steps()),
                static_cast<double>(stage_.machine().now()) / 1e6, rank, step_[rank],
                to_string(at));
  }
  // Rounds begin and end with a compare-and-swap; it was made since the rank's last step.
  if (last_step_[rank] == Step::replace) scan();
  last_step_[rank] = at;
}

void GroupPlay::scan() {
  const Board& board = exchanges_[0]->board();
  const int last = *std::max_element(step_.begin(), step_.end());
  for (int step = 1; step <= last; ++step) {
    for (int group = 0; group < (everyone_at(step) ? 1 : schedule_->groups()); ++group) {
      Round& round = rounds_[step][group];
      if (round.done) continue;
      const group::LocalGroup where{.step = static_cast<std::uint64_t>(step), .group = group};
      if (!round.started && board.rounds.attempt(where).round == where.step)
        note_start(step, group);
      if (const int buffer = board.results.buffer_of(where); buffer >= 0)
        note_result(step, group, buffer);
    }
  }
}

void GroupPlay::note_start(int step, int group) {
  const std::string where =
      " when step " + std::to_string(step) + " of group " + std::to_string(group) + " was started";
  Round& round = rounds_[step][group];
  const Board& board = exchanges_[0]->board();
  round.started = true;
  round.gone = gone();
  const Ranks members = members_of(step, group);
  bool any_came = false;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    round.newest[rank] = static_cast<int>(board.publications.newest(rank).step);
    const bool member = (members & bit(rank)) != 0;
    any_came |= member && round.newest[rank] >= step;
    const bool counts = (round.gone & bit(rank)) == 0;
    if (counts &&
        board.participants.seen(rank) + plan_->options.window < static_cast<std::uint64_t>(step)) {
      fail("rank " + std::to_string(rank) + " was more than the window behind" + where);
    }
    const bool waits = everyone_at(step) || plan_->options.trigger.kind == Trigger::Kind::all;
    if (waits && member && counts && round.newest[rank] < step) {
      fail("rank " + std::to_string(rank) + " was not there" + where);
    }
  }
  if (!any_came) fail("no rank of the group had come" + where);
}

void GroupPlay::note_result(int step, int group, int buffer) {
  const std::string where =
      " in step " + std::to_string(step) + " of group " + std::to_string(group);
  Round& round = rounds_[step][group];
  round.done = true;
  ++rounds_run_;
  if (!round.started) fail("a result without a start" + where);
  const Board& board = exchanges_[0]->board();
  const board::Reduction& results = board.results.buffers();
  round.members = results.contributors(buffer)[0];
  std::memcpy(round.mean.data(), results.values(buffer), plan_->elements * sizeof(double));
  const int count = std::popcount(round.members);
  const Ranks scheduled = members_of(step, group);
  if ((round.members & ~scheduled) != 0) fail("a rank of another group" + where);
  if ((round.members & round.gone) != 0) fail("a rank that was gone before it began" + where);
  if ((scheduled & ~round.members & ~gone()) != 0) fail("a member was left out" + where);
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if ((round.members & bit(rank)) == 0) continue;
    const int newest = std::min(step, static_cast<int>(board.publications.newest(rank).step));
    int used = newest;
    const auto digit = [&](std::size_t e) {
      const double sum = std::round(round.mean[e] * count);
      return std::fmod(std::floor(sum / std::pow(kBase, rank)), kBase);
    };
    while (used >= 0 && value(rank, used, 0) != digit(0) * std::pow(kBase, rank)) --used;
    round.used[rank] = used;
    if (used < round.newest[rank]) {
      fail("not the newest publication of rank " + std::to_string(rank) + where);
    }
    round.staleness = std::max(round.staleness, static_cast<std::uint64_t>(step - used));
  }
  for (std::size_t e = 0; e < plan_->elements; ++e) {
    double expected = 0;
    for (int rank = 0; rank < plan_->ranks; ++rank) {
      if ((round.members & bit(rank)) != 0) expected += value(rank, round.used[rank], e);
    }
    if (expected * (1.0 / count) != round.mean[e])
      fail("element " + std::to_string(e) + " is torn or mixed" + where);
  }
  const board::ResultHeader& header = results.header(buffer);
  if (header.weight != count) fail("wrong number of members" + where);
  if (header.staleness != round.staleness) fail("wrong staleness" + where);
  if (header.round != static_cast<std::uint64_t>(step)) fail("wrong number" + where);
}

void GroupPlay::idle() {
  // A rank that is stopped or dead may have it in hand, and grace takes its time.
  if (!plan_->faults.empty() || plan_->tick > 0 || plan_->options.grace != no_grace()) return;
  const Ranks away = gone();
  Board& board = exchanges_[0]->board();
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    const int step = step_[rank];
    if ((waiting_ & bit(rank)) == 0 || (away & bit(rank)) != 0) continue;
    const int group = group_of(step, rank);
    bool could = true;
    for (int other = 0; other < plan_->ranks; ++other) {
      if ((away & bit(other)) != 0) continue;
      could &= board.participants.seen(other) + plan_->options.window >=
               static_cast<std::uint64_t>(step);
      const bool waits = everyone_at(step) || plan_->options.trigger.kind == Trigger::Kind::all;
      if (waits && group_of(step, other) == group) {
        could &= board.publications.newest(other).step >= static_cast<std::uint64_t>(step);
      }
    }
    if (could) fail("all sleep, and step " + std::to_string(step) + " could go on");
  }
}

void GroupPlay::fill(int rank, int step, double* values) {
  const std::size_t middle = plan_->elements / 2;
  std::fill_n(values, plan_->elements, kPoison);
  stage_.machine().pause();  // Who still read the slot would read this.
  for (std::size_t e = 0; e < middle; ++e) values[e] = value(rank, step, e);
  stage_.machine().pause();
  for (std::size_t e = middle; e < plan_->elements; ++e) values[e] = value(rank, step, e);
}

void GroupPlay::act(int rank) {
  Exchange& exchange = *exchanges_[rank];
  Machine& machine = stage_.machine();
  const GroupPlan::Call call = plan_->calls[rank];
  Values own{};
  for (int i = 0; i < plan_->steps[rank]; ++i) {
    if (plan_->computing[rank] > 0) machine.sleep_until(machine.now() + plan_->computing[rank]);
    auto* slot = static_cast<double*>(exchange.weights());
    fill(rank, i + 1, slot);
    ++step_[rank];
    exchange.publish();
    waiting_ |= bit(rank);
    if (call == GroupPlan::Call::halves && !exchange.ready()) exchange.ready();
    const GroupReceipt receipt =
        exchange.finish(call == GroupPlan::Call::copied ? own.data() : nullptr);
    waiting_ &= ~bit(rank);
    const auto* weights = call == GroupPlan::Call::copied
                              ? own.data()
                              : static_cast<const double*>(exchange.weights());
    check(rank, receipt, weights);
    Values before{};
    std::copy_n(weights, plan_->elements, before.begin());
    machine.pause();  // Who still wrote to the weights would write now.
    if (!std::equal(weights, weights + plan_->elements, before.begin())) {
      fail("another rank wrote to the weights of rank " + std::to_string(rank));
    }
  }
  leaving_ |= bit(rank);
  exchange.leave();
  left_ |= bit(rank);
}

void GroupPlay::check(int rank, const GroupReceipt& receipt, const double* weights) {
  const int step = step_[rank];
  const std::string where = " of rank " + std::to_string(rank) + " in step " + std::to_string(step);
  {
    const Unobserved unobserved;
    scan();
  }
  const Round& round = rounds_[step][group_of(step, rank)];
  if (!round.done) return fail("a receipt before the round was done" + where);
  const bool included = (round.members & bit(rank)) != 0 && round.used[rank] == step;
  late_ += included ? 0 : 1;
  Ranks members = 0;
  for (const int member : receipt.members.list()) members |= bit(member);
  if (receipt.step != static_cast<std::uint64_t>(step)) fail("wrong number in the receipt" + where);
  if (receipt.included != included) fail("wrong about being included: receipt" + where);
  if (members != round.members) fail("wrong members in the receipt" + where);
  if (receipt.everyone != everyone_at(step)) fail("wrong kind of step in the receipt" + where);
  if (receipt.staleness != round.staleness) fail("wrong staleness in the receipt" + where);
  if (receipt.staleness > static_cast<std::uint64_t>(plan_->options.window)) {
    fail("older than the window: receipt" + where);
  }
  for (const int dead : receipt.dead.list()) {
    if (stage_.machine().alive(dead)) fail("a living rank is called dead in the receipt" + where);
  }
  // Who was left out without leaving must be named.
  const Ranks left_out = members_of(step, group_of(step, rank)) & ~round.members & ~leaving_;
  for (int other = 0; other < plan_->ranks; ++other) {
    if ((left_out & bit(other)) != 0 && !receipt.dead.contains(other)) {
      fail("rank " + std::to_string(other) + " is not named as dead in the receipt" + where);
    }
  }
  const int lag = (round.members & bit(rank)) != 0 ? step - round.used[rank] : -1;
  if (receipt.own_staleness != static_cast<std::uint64_t>(std::max(lag, 0))) {
    fail("wrong staleness of its own weights in the receipt" + where);
  }
  std::vector<double> own(plan_->elements);
  for (std::size_t e = 0; e < plan_->elements; ++e) own[e] = value(rank, step, e);
  const std::span<const double> after(weights, plan_->elements);
  const std::vector<double> expected = merges_[rank].weights(
      step, lag, std::popcount(round.members), std::span(round.mean).first(plan_->elements), own);
  if (!std::equal(after.begin(), after.end(), expected.begin())) {
    fail("not the mean: weights" + where);
  }
  merges_[rank].follow(step, own, after);
}

void GroupPlay::close(Machine::Outcome outcome) {
  Machine& machine = stage_.machine();
  if (outcome == Machine::Outcome::stuck) fail("liveness: no rank can go on");
  if (outcome == Machine::Outcome::endless) fail("liveness: no end in sight");
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if (!machine.error(rank)) continue;
    try {
      std::rethrow_exception(machine.error(rank));
    } catch (const std::exception& error) {
      fail("rank " + std::to_string(rank) + " failed: " + error.what());
    }
  }
  if (plan_->timeless() && machine.now() > 0) {
    fail("a rank slept although there was news: the clock had to move");
  }
  exchanges_.clear();
}

}  // namespace syncopate::testing

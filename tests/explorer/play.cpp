#include "explorer/play.h"

#include <algorithm>
#include <cstdio>

#include "partial/exchange.h"
#include "partial/pair.h"
#include "round/trigger.h"
#include "syncopate/error.h"

namespace syncopate::testing {
namespace {

using board::AttemptWord;
using detail::PartialExchange;
using partial::Board;
using partial::Participation;

/// Longer than anything that a plan lets happen: a rank that reaches it waited for nothing.
const Duration kTimeout = std::chrono::hours(1);
/// Far more than the longest schedule that comes to an end takes.
constexpr std::uint64_t kMostSteps = 200'000;
constexpr Time kNowhere = -1;

}  // namespace

Play::Play() : body_([this](int rank) { act(rank); }) {}

const std::string& Play::run(const Plan& plan, Machine::Scheduler& scheduler, bool trace) {
  plan_ = &plan;
  trace_ = trace;
  ledger_.open(plan);
  exchanges_.clear();
  timeouts_.fill(kTimeout);
  for (std::size_t rank = 0; rank < plan.timeouts.size(); ++rank) {
    if (plan.timeouts[rank] > 0) timeouts_[rank] = Duration(plan.timeouts[rank]);
  }
  entered_.fill(kNowhere);
  stage_.set(plan.ranks);
  Machine& machine = stage_.machine();
  const auto shape = partial::Shape::of(plan.elements, plan.type, plan.ranks, plan.options);
  exchanges_ = stage_.make<PartialExchange>(shape.bytes(), [&](int rank, std::byte* memory) {
    board::Roster& roster = stage_.roster(rank);
    board::Platform& platform = stage_.platform(rank);
    if (rank == 0) Board(memory, shape, roster, platform).begin_after(plan.begin_after);
    return std::make_unique<PartialExchange>(roster, platform, timeouts_[rank], memory, shape,
                                             plan.options);
  });
  delivered_.fill(plan.begin_after);
  failed_.fill(0);
  attempt_ = AttemptWord{.round = plan.begin_after}.pack();
  started_ = published_ = plan.begin_after;
  waiting_ = waited_ = 0;
  machine.observe(this);
  machine.limit_steps(kMostSteps);
  machine.tick(plan.tick);
  machine.wake_early(plan.wake_early);
  for (const Machine::Fault& fault : plan.faults) machine.add_fault(fault);
  close(machine.run(plan.ranks, scheduler, body_));
  return ledger_.failure();
}

void Play::look(int rank, Step at) {
  if (trace_) {
    std::printf("%8llu  %6.1f ms  rank %d  %s\n",
                static_cast<unsigned long long>(stage_.machine().steps()),
                static_cast<double>(stage_.machine().now()) / 1e6, rank, to_string(at));
  }
  Board& board = exchanges_[0]->board();
  const AttemptWord attempt = board.running.attempt();
  if (attempt.pack() != attempt_) {
    ++attempts_;
    attempt_ = attempt.pack();
    if (attempt.round != started_ && !settled(attempt.round)) {
      check_start(attempt.round, attempt.last);
    }
    started_ = attempt.round;
    if (trace_) {
      std::printf("          round %llu, buffer %d\n",
                  static_cast<unsigned long long>(attempt.round), attempt.buffer);
    }
  }
  if (const std::uint64_t published = board.results.published(); published != published_) {
    note_published(published);
  }
}

void Play::idle() {
  // A rank that is stopped or dead may have it in hand, and grace takes its time.
  if (!plan_->faults.empty() || plan_->tick > 0 || plan_->options.grace != no_grace()) return;
  if (!plan_->timeouts.empty()) return;  // Who gave up does not start rounds.
  if (waiting_ == 0) return;
  look(0, Step::park);
  if (started_ > published_) {
    return ledger_.fail("all sleep, and round " + std::to_string(started_) + " lies open");
  }
  // The rank that has settled most knows best what has not been taken yet.
  const int leader = delivered_[1] > delivered_[0] ? 1 : 0;
  Board& board = exchanges_[leader]->board();
  for (int rank = 0; board.shape.each_sums_up() && rank < plan_->ranks; ++rank) {
    const std::uint64_t round = delivered_[rank] + 1;
    if (exchanges_[rank]->board().settled.through < round &&
        partial::Pair::both_firm(board.memory, round)) {
      return ledger_.fail("all sleep, and rank " + std::to_string(rank) + " could settle");
    }
  }
  const std::uint64_t round =
      board.shape.each_sums_up() ? std::max(published_, delivered_[leader]) + 1 : published_ + 1;
  round::Attendance here;
  bool somebody_waits = false;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    const bool counts = board.participants.counts(rank);
    here.here += board.participants.has_deposit(rank) ? 1 : 0;
    here.counting += counts ? 1 : 0;
    here.counting_here += counts && board.participants.has_deposit(rank) ? 1 : 0;
    somebody_waits |= counts && (waiting_ & bit(rank)) != 0;
    if (board.participants.holds_up(rank, round)) return;
  }
  if (plan_->options.trigger.kind == Trigger::Kind::majority) {
    const int drawn = round::draw(plan_->options.trigger.seed, round, plan_->ranks,
                                  [&](int rank) { return board.participants.counts(rank); });
    here.drawn_here = drawn >= 0 && board.participants.has_deposit(drawn);
  }
  // A rank that only follows the others leaves it to them to start rounds, until it is the last.
  if (here.counting == 0 || (somebody_waits && round::holds(plan_->options.trigger, here))) {
    ledger_.fail("all sleep, and round " + std::to_string(round) + " could start");
  }
}

void Play::check_start(std::uint64_t round, bool last) {
  const std::string where = " when round " + std::to_string(round) + " was started";
  if (round != started_ + 1 || published_ + 1 != round) ledger_.fail("out of order" + where);
  Board& board = exchanges_[0]->board();
  round::Attendance here;
  bool somebody_waits = false;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    const bool counts = board.participants.counts(rank);
    here.here += board.participants.has_deposit(rank) ? 1 : 0;
    here.counting += counts ? 1 : 0;
    here.counting_here += counts && board.participants.has_deposit(rank) ? 1 : 0;
    // For this very round: who has yet to wake up from the one before may not want another. Of a
    // death that no rank has noticed yet, none can know.
    somebody_waits |= (waited_ & bit(rank)) != 0 && delivered_[rank] + 1 == round &&
                      stage_.roster(0).expected(rank);
    if (!stage_.machine().alive(rank) ||
        board.participants.participation(rank) == Participation::left)
      continue;
    if (board.participants.seen(rank) + plan_->options.window < round) {
      ledger_.fail("rank " + std::to_string(rank) + " was more than the window behind" + where);
    }
  }
  // (A rank may have given up since the round was found to be wanted.)
  if (!somebody_waits && plan_->timeouts.empty()) ledger_.fail("no rank waited" + where);
  if (last) {
    if (here.counting > 0) ledger_.fail("not all had finished" + where);
    return;
  }
  if (plan_->options.trigger.kind == Trigger::Kind::majority) {
    // The draw may have been made when more ranks counted.
    const int drawn =
        round::draw(plan_->options.trigger.seed, round, plan_->ranks, [](int) { return true; });
    here.drawn_here = here.counting < plan_->ranks || board.participants.has_deposit(drawn);
  }
  if (!round::holds(plan_->options.trigger, here)) ledger_.fail("the trigger did not hold" + where);
}

void Play::note_published(std::uint64_t round) {
  published_ = round;
  waited_ = waiting_;
  if (!ledger_.knows(round)) note_result(0, round);
}

void Play::note_result(int rank, std::uint64_t round) {
  const Board& board = exchanges_[rank]->board();
  const int buffer = board.results.buffer_of(round);
  if (buffer < 0) return ledger_.fail("no result of round " + std::to_string(round));
  const board::Reduction& results = board.results.buffers();
  ledger_.published(round, results.values(buffer), results.header(buffer),
                    results.contributors(buffer)[0], results.reporters(buffer)[0]);
}

bool Play::settled(std::uint64_t round) const {
  if (!exchanges_[0]->board().shape.each_sums_up()) return false;
  return ledger_.knows(round) || exchanges_[0]->board().settled.through == round ||
         exchanges_[1]->board().settled.through == round;
}

void Play::act(int rank) {
  PartialExchange& exchange = *exchanges_[rank];
  Machine& machine = stage_.machine();
  for (const Action& action : plan_->actions[rank]) {
    if (action.computing > 0) machine.sleep_until(machine.now() + action.computing);
    put(rank, action);
    bool taking = action.kind != Action::Kind::start;
    if (action.kind == Action::Kind::poll) {
      begin_waiting(rank);
      taking = exchange.ready() || exchange.ready();
      waiting_ &= ~bit(rank);
    }
    if (taking) take(rank);
  }
  if (plan_->ends[rank] == End::leave) return exchange.leave();
  exchange.stop();
  timeouts_[rank] = kTimeout;
  while (!exchange.reader().finished()) take(rank);
}

void Play::put(int rank, const Action& action) {
  PartialExchange& exchange = *exchanges_[rank];
  const bool waits = action.kind == Action::Kind::exchange ||
                     (action.kind == Action::Kind::empty && !action.copied);
  const auto then = waits ? detail::Then::wait : detail::Then::go_on;
  entered_[rank] = waits ? stage_.machine().now() : kNowhere;
  if (waits) begin_waiting(rank);  // Said before the deposit.
  if (action.kind == Action::Kind::empty) return exchange.deposit_nothing(then);
  const int id = ledger_.begin_deposit(rank, delivered_[rank], action.weight);
  const std::uint64_t dropped = exchange.board().deposits.dropped();
  const std::size_t middle = plan_->elements / 2;
  if (action.copied) {
    double values[8];
    ledger_.fill(id, values, 0, plan_->elements);
    exchange.deposit(values, plan_->elements, action.weight, then);
  } else {
    void* slot = exchange.writable_slot();
    ledger_.fill(id, slot, 0, middle);
    stage_.machine().pause();  // Who still read the slot would now read half of it.
    ledger_.fill(id, slot, middle, plan_->elements);
    exchange.deposit_slot(action.weight, then);
  }
  ledger_.end_deposit(id, exchange.board().deposits.dropped() > dropped);
}

void Play::take(int rank) {
  PartialExchange& exchange = *exchanges_[rank];
  begin_waiting(rank);
  const Time entered = entered_[rank] != kNowhere ? entered_[rank] : stage_.machine().now();
  entered_[rank] = kNowhere;
  std::uint64_t rounds = 0;
  try {
    rounds = exchange.await();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout || timeouts_[rank] == kTimeout) throw;
    if (stage_.machine().now() - entered < timeouts_[rank].count()) {
      ledger_.fail("rank " + std::to_string(rank) + " gave up too early: " + error.what());
    }
  }
  waiting_ &= ~bit(rank);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t round = delivered_[rank] + 1;
    if (exchange.board().settled.through == round && !ledger_.knows(round))
      note_result(rank, round);
    // Sometimes a step fails: the rank gets the round, and those after it, once more.
    if (fails_at(rank, round)) return;
    delivered_[rank] = round;
    const void* values = exchange.reader().values(round);
    ledger_.read(rank, round, values, exchange.reader().receipt(round));
    if (exchange.reader().receipt(round).waited.count() > stage_.machine().now() - entered) {
      ledger_.fail("rank " + std::to_string(rank) + " is said to have waited longer than it did");
    }
    stage_.machine().pause();  // Who still wrote to the result would write now.
    ledger_.read_again(rank, round, values);
    // Sometimes a rank lets go of each round at once, and sometimes only with its next call.
    if ((round + rank) % 3 != 0) {
      exchange.reader().pass(round);
    } else {
      exchange.reader().read(round);
    }
  }
}

bool Play::fails_at(int rank, std::uint64_t round) {
  if ((round * 5 + static_cast<std::uint64_t>(rank) * 3) % 7 != 0) return false;
  if (failed_[rank] == round) return false;
  failed_[rank] = round;
  return true;
}

void Play::close(Machine::Outcome outcome) {
  Machine& machine = stage_.machine();
  if (outcome == Machine::Outcome::stuck) ledger_.fail("liveness: no rank can go on");
  if (outcome == Machine::Outcome::endless) ledger_.fail("liveness: the schedule does not end");
  Ranks survivors = 0;
  Ranks left_over = 0;
  const Board& board = exchanges_[0]->board();
  if (const std::uint64_t published = board.results.published(); published != published_) {
    note_published(published);
  }
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if (machine.ended(rank)) survivors |= bit(rank);
    // What a round has taken that no rank is left to finish lies there, too.
    if (board.participants.has_deposit(rank) || started_ > published_) left_over |= bit(rank);
    if (!machine.error(rank)) continue;
    try {
      std::rethrow_exception(machine.error(rank));
    } catch (const std::exception& error) {
      ledger_.fail("rank " + std::to_string(rank) + " failed: " + error.what());
    }
  }
  if (ledger_.failure().empty()) ledger_.close(left_over, survivors);
  if (plan_->timeless() && machine.now() > 0) {
    ledger_.fail("a rank slept although there was news: the clock had to move");
  }
  exchanges_.clear();
}

}  // namespace syncopate::testing

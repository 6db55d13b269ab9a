#include "scenarios/board_player.h"

#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "base/options.h"
#include "partial/exchange.h"
#include "support/stage.h"
#include "syncopate/error.h"

namespace syncopate::testing {
namespace {

using board::AttemptWord;
using detail::PartialExchange;
using detail::Then;
using partial::Board;

/// A scenario that has not ended after so many steps never will.
constexpr std::uint64_t kMostSteps = 10'000'000;

class InOrder final : public Machine::Scheduler {
 public:
  explicit InOrder(Scenario::Order order) : order_(order) {}

  int choose(Ranks ready, int current, Step /*at*/) override {
    if (order_ == Scenario::Order::by_rank) {
      return current != Machine::kNobody ? current : std::countr_zero(ready);
    }
    const Ranks after = ready & ~(bit(last_ + 1) - 1);
    last_ = std::countr_zero(after != 0 ? after : ready);
    return last_;
  }

 private:
  Scenario::Order order_;
  int last_ = -1;
};

class BoardPlayer final : private Machine::Observer {
 public:
  explicit BoardPlayer(const Scenario& scenario) : scenario_(scenario) {}

  Record play() {
    base::check(scenario_.options, scenario_.ranks);
    record_.ranks.resize(scenario_.ranks);
    delivered_.assign(scenario_.ranks, scenario_.begin_after);
    started_ = published_ = scenario_.begin_after;
    set_stage();
    InOrder scheduler(scenario_.order);
    const auto outcome =
        machine().run(scenario_.ranks, scheduler, [this](int rank) { perform(rank); });
    look(0, Step::read);
    record_.end = now();
    if (outcome != Machine::Outcome::finished) {
      for (int rank = 0; rank < scenario_.ranks; ++rank) {
        if (machine().ended(rank) || !machine().alive(rank)) continue;
        complain("rank " + std::to_string(rank) + " never comes to its end");
      }
    }
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      record_.ranks[rank].drops = exchanges_[rank]->board().deposits.dropped();
      record_.ranks[rank].finished = exchanges_[rank]->reader().finished();
      // Whatever is no syncopate::Error is a defect of the player.
      if (machine().error(rank)) std::rethrow_exception(machine().error(rank));
    }
    exchanges_.clear();
    return std::move(record_);
  }

 private:
  Machine& machine() { return stage_.machine(); }
  Moment now() { return Moment(machine().now()); }
  void complain(const std::string& what) { record_.complaints.push_back(what); }

  void set_stage() {
    stage_.set(scenario_.ranks);
    const auto shape =
        partial::Shape::of(scenario_.elements, scenario_.type, scenario_.ranks, scenario_.options);
    exchanges_ = stage_.make<PartialExchange>(shape.bytes(), [&](int rank, std::byte* memory) {
      board::Roster& roster = stage_.roster(rank);
      board::Platform& platform = stage_.platform(rank);
      if (rank == 0) Board(memory, shape, roster, platform).begin_after(scenario_.begin_after);
      return std::make_unique<PartialExchange>(roster, platform, scenario_.timeout, memory, shape,
                                               scenario_.options);
    });
    machine().observe(this);
    machine().limit_steps(kMostSteps);
    for (const Incident& incident : scenario_.incidents) {
      machine().at(incident.at.count(), [this, incident] {
        if (incident.kind == Incident::Kind::dies) machine().kill(incident.rank);
        if (incident.kind == Incident::Kind::stops) machine().stop(incident.rank);
        if (incident.kind == Incident::Kind::continues) machine().resume(incident.rank);
      });
    }
    for (const StepFault& fault : scenario_.step_faults) {
      machine().add_fault(
          {.kind = fault.dies ? Machine::Fault::Kind::die : Machine::Fault::Kind::stop,
           .rank = fault.rank,
           .step = static_cast<std::uint64_t>(fault.occurrence),
           .at = step_named(fault.step),
           .duration = fault.time.count()});
    }
  }

  static Step step_named(const std::string& name) {
    for (int step = 0; step <= static_cast<int>(Step::agree); ++step) {
      if (name == to_string(static_cast<Step>(step))) return static_cast<Step>(step);
    }
    throw std::runtime_error("the board has no step '" + name + "'");
  }

  void look(int /*rank*/, Step /*at*/) override {
    const Board& board = exchanges_[0]->board();
    for (const std::uint64_t round = board.running.attempt().round; started_ < round;) {
      record_.started[++started_] = now();
    }
    for (const std::uint64_t round = board.results.published(); published_ < round;) {
      record_.published[++published_] = now();
    }
  }

  void perform(int rank) {
    try {
      for (const Act& act : scenario_.scripts[rank]) perform(rank, act);
    } catch (const Error& error) {
      record_.ranks[rank].failure =
          Failure{.code = error.code(), .message = error.what(), .at = now()};
    }
    // As the end of a collective's handle does.
    if (record_.ranks[rank].failure && record_.ranks[rank].failure->code != ErrorCode::closed) {
      exchanges_[rank]->leave();
    }
  }

  void perform(int rank, const Act& act) {
    PartialExchange& exchange = *exchanges_[rank];
    switch (act.kind) {
      case Act::Kind::compute:
        machine().sleep_until((now() + act.time).count());
        break;
      case Act::Kind::until:
        machine().sleep_until(act.time.count());
        break;
      case Act::Kind::exchange:
        deposit(rank, act, Then::wait);
        take(rank);
        break;
      case Act::Kind::start:
        deposit(rank, act, Then::go_on);
        break;
      case Act::Kind::wait:
        take(rank);
        break;
      case Act::Kind::poll:
        if (exchange.ready() != act.answer) {
          complain("line " + std::to_string(act.line) + ": rank " + std::to_string(rank) +
                   " gets another answer");
        }
        break;
      case Act::Kind::finish:
        exchange.stop();
        while (!exchange.reader().finished()) take(rank);
        break;
      case Act::Kind::leave:
        exchange.leave();
        break;
      case Act::Kind::die:
        machine().kill(rank);
        machine().pause();
        break;
      case Act::Kind::stop:
        machine().stop(rank, (now() + act.time).count());
        machine().pause();
        break;
    }
  }

  void deposit(int rank, const Act& act, Then then) {
    PartialExchange& exchange = *exchanges_[rank];
    if (!act.value) return exchange.deposit_nothing(then);
    const std::uint64_t dropped = exchange.board().deposits.dropped();
    void* slot = exchange.writable_slot();
    for (std::size_t i = 0; i < scenario_.elements; ++i) {
      const double value = *act.value * static_cast<double>(i + 1);
      if (scenario_.type == DataType::float64) {
        static_cast<double*>(slot)[i] = value;
      } else {
        static_cast<float*>(slot)[i] = static_cast<float>(value);
      }
    }
    const bool certain = std::exchange(record_.certain, false);
    exchange.deposit_slot(act.weight, then);
    record_.certain = certain;
    if (exchange.board().deposits.dropped() == dropped)
      record_.deposited += *act.value * act.weight;
  }

  void take(int rank) {
    PartialExchange& exchange = *exchanges_[rank];
    RankRecord& mine = record_.ranks[rank];
    const std::uint64_t count = exchange.await();
    ++calls_;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t round = ++delivered_[rank];
      const void* values = exchange.reader().values(round);
      Reading reading{.receipt = exchange.reader().receipt(round), .at = now(), .call = calls_};
      for (std::size_t element = 0; element < scenario_.elements; ++element) {
        reading.values.push_back(scenario_.type == DataType::float64
                                     ? static_cast<const double*>(values)[element]
                                     : static_cast<const float*>(values)[element]);
      }
      mine.order.push_back(round);
      mine.rounds.emplace(round, std::move(reading));
      exchange.reader().pass(round);
    }
  }

  const Scenario& scenario_;
  Record record_;
  Stage stage_;
  std::vector<std::unique_ptr<PartialExchange>> exchanges_;
  std::vector<std::uint64_t> delivered_;
  std::uint64_t started_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace

Record play_on_board(const Scenario& scenario) { return BoardPlayer(scenario).play(); }

}  // namespace syncopate::testing

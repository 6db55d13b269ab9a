#include "scenarios/real_player.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "scenarios/parcel.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The ranks begin so long after one of them has said when: enough for all to hear it.
constexpr auto kNotice = 40ms;
/// How long a round that is ready may take to be so on every machine: it comes there a moment
/// later (docs/architecture.md, "What holds across machines").
constexpr auto kOnItsWay = 1s;

template <typename T>
class RealPlayer {
 public:
  RealPlayer(const Scenario& scenario, World& world, double stretch)
      : scenario_(scenario),
        stretch_(stretch),
        rank_(world.rank()),
        rounds_(world, scenario.elements, options()) {
    // All ranks are on one host, whose clock they share.
    begin_ = told_by(0, Clock::now() + kNotice, world);
    std::this_thread::sleep_until(begin_);
  }

  Part play() {
    try {
      for (const Act& act : scenario_.scripts[rank_]) perform(act);
    } catch (const Error& error) {
      part_.rank.failure = Failure{.code = error.code(), .message = error.what(), .at = now()};
    }
    part_.rank.drops = rounds_.dropped();
    return std::move(part_);
  }

 private:
  PartialOptions options() const {
    PartialOptions options = scenario_.options;
    options.grace.fixed = stretched(options.grace.fixed);
    return options;
  }

  Moment stretched(Moment time) const {
    return std::chrono::duration_cast<Moment>(time * stretch_);
  }
  Moment shrunk(Moment time) const { return std::chrono::duration_cast<Moment>(time / stretch_); }
  Moment now() const { return shrunk(Clock::now() - begin_); }

  void perform(const Act& act) {
    switch (act.kind) {
      case Act::Kind::compute:
        std::this_thread::sleep_for(stretched(act.time));
        break;
      case Act::Kind::until:
        std::this_thread::sleep_until(begin_ + stretched(act.time));
        break;
      case Act::Kind::exchange:
        if (act.value) {
          deposit(act, [&] { take(rounds_.exchange(act.weight)); });
        } else {
          rounds_.start_empty();
          take(rounds_.wait());
        }
        break;
      case Act::Kind::start:
        if (act.value) {
          deposit(act, [&] { rounds_.start(act.weight); });
        } else {
          rounds_.start_empty();
        }
        break;
      case Act::Kind::wait:
        take(rounds_.wait());
        break;
      case Act::Kind::poll:
        poll(act);
        break;
      case Act::Kind::finish:
        rounds_.finish([this](const Round<T>& round) {
          ++calls_;
          note(round);
        });
        part_.rank.finished = true;
        break;
      case Act::Kind::leave:
        rounds_.leave();
        break;
      case Act::Kind::die:
      case Act::Kind::stop:
        break;  // See why_not_in_real_time().
    }
  }

  void deposit(const Act& act, const auto& put) {
    const std::uint64_t dropped = rounds_.dropped();
    T* slot = rounds_.slot();
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      slot[i] = static_cast<T>(*act.value * static_cast<double>(i + 1));
    }
    put();
    if (rounds_.dropped() == dropped) part_.deposited += *act.value * act.weight;
  }

  void poll(const Act& act) {
    bool answer = rounds_.ready();
    const auto deadline = Clock::now() + kOnItsWay;
    while (act.answer && !answer && Clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
      answer = rounds_.ready();
    }
    if (answer == act.answer) return;
    part_.complaints.push_back("line " + std::to_string(act.line) + ": rank " +
                               std::to_string(rank_) + " gets another answer");
  }

  void take(const Rounds<T>& rounds) {
    ++calls_;
    for (const auto& round : rounds) note(round);
  }

  void note(const Round<T>& round) {
    Reading reading{.receipt = round.receipt(), .at = now(), .call = calls_};
    reading.receipt.waited = shrunk(reading.receipt.waited);
    const auto values = scenario_.options.scale == Scale::none ? round.sum() : round.mean();
    reading.values.assign(values.begin(), values.end());
    part_.rank.order.push_back(round.number());
    part_.rank.rounds.emplace(round.number(), std::move(reading));
  }

  const Scenario& scenario_;
  double stretch_;
  int rank_;
  PartialAllreduce<T> rounds_;
  Clock::time_point begin_;
  Part part_;
  std::uint64_t calls_ = 0;
};

}  // namespace

std::string why_not_in_real_time(const Scenario& scenario) {
  const auto any_rank = [&](Act::Kind kind) {
    const auto does = [kind](const Act& act) { return act.kind == kind; };
    return std::any_of(scenario.scripts.begin(), scenario.scripts.end(), [&](const auto& script) {
      return std::any_of(script.begin(), script.end(), does);
    });
  };
  if (!scenario.step_faults.empty()) return "it speaks of steps of the board";
  if (scenario.begin_after != 0) return "the first round of real ranks is 1";
  if (any_rank(Act::Kind::die) || any_rank(Act::Kind::stop) || !scenario.incidents.empty()) {
    // Killing one ends the job under most launchers, and stopping one may stop its machine's
    // agent, which is no straggler: tests/fabric/strikes.cpp does both.
    return "ranks die or are stopped";
  }
  return "";
}

Part play_in_real_time(const Scenario& scenario, World& world, double stretch) {
  const Duration usual = world.timeout();
  world.set_timeout(std::chrono::duration_cast<Duration>(scenario.timeout * stretch));
  Part part = scenario.type == DataType::float64
                  ? RealPlayer<double>(scenario, world, stretch).play()
                  : RealPlayer<float>(scenario, world, stretch).play();
  world.set_timeout(usual);
  return part;
}

Record bring_together(World& world, Part mine) {
  Record record;
  const std::vector<char> packed = pack(mine);
  for (int rank = 0; rank < world.size(); ++rank) {
    std::vector<char> bytes = packed;
    bytes.resize(told_by(rank, bytes.size(), world));
    world.broadcast(std::span(bytes), rank);
    Part part = unpack(bytes, world.size());
    record.deposited += part.deposited;
    for (const auto& [round, reading] : part.rank.rounds) {
      const auto [first, is_new] = record.started.emplace(round, reading.at);
      if (!is_new) first->second = std::min(first->second, reading.at);
      record.end = std::max(record.end, reading.at);
    }
    record.complaints.insert(record.complaints.end(), part.complaints.begin(),
                             part.complaints.end());
    record.ranks.push_back(std::move(part.rank));
  }
  record.published = record.started;
  return record;
}

}  // namespace syncopate::testing

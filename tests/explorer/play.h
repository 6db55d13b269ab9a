// Plays one plan under one scheduler and checks every promise on the way.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "explorer/ledger.h"
#include "explorer/plan.h"
#include "partial/exchange.h"
#include "support/stage.h"

namespace syncopate::testing {

class Play final : private Machine::Observer {
 public:
  Play();
  /// What went wrong; empty if nothing did.
  const std::string& run(const Plan& plan, Machine::Scheduler& scheduler, bool trace = false);

  std::uint64_t steps() { return stage_.machine().steps(); }
  std::uint64_t rounds() const { return ledger_.rounds(); }
  std::uint64_t attempts() const { return attempts_; }

 private:
  void look(int rank, Step at) override;
  void idle() override;
  void check_start(std::uint64_t round, bool last);
  void note_published(std::uint64_t round);
  /// Shows the ledger a result as `rank` sees it.
  void note_result(int rank, std::uint64_t round);
  /// Whether ranks have settled the round before it was published, if it ever is.
  bool settled(std::uint64_t round) const;

  void act(int rank);
  void put(int rank, const Action& action);
  void take(int rank);
  /// Whether the step of `rank` with this round fails, which it does once.
  bool fails_at(int rank, std::uint64_t round);
  void begin_waiting(int rank) {
    waiting_ |= bit(rank);
    waited_ |= bit(rank);
  }
  void close(Machine::Outcome outcome);

  Stage stage_;
  Ledger ledger_;
  const Plan* plan_ = nullptr;
  bool trace_ = false;
  std::vector<std::unique_ptr<detail::PartialExchange>> exchanges_;
  std::array<std::uint64_t, Machine::kMostRanks> delivered_{};
  std::array<std::uint64_t, Machine::kMostRanks> failed_{};  ///< The last round it failed with.
  std::array<Duration, Machine::kMostRanks> timeouts_{};
  std::array<Time, Machine::kMostRanks>
      entered_{};      ///< When it began to wait; kNowhere: it does not.
  Ranks waiting_ = 0;  ///< Ranks that are in await() or ready().
  Ranks waited_ = 0;   ///< Ranks that were at some time since the newest round was published.
  std::uint64_t attempt_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t attempts_ = 0;
  const std::function<void(int)> body_;
};

}  // namespace syncopate::testing

// Plays one plan of group averages under one scheduler and checks every promise on the way.
// Every rank has a digit of its own in the values, which tells the step of the publication and
// differs from element to element: a sum that mixes two publications of a rank, or holds one
// that was being written, shows.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "explorer/group_plan.h"
#include "group/exchange.h"
#include "round/groups.h"
#include "support/group_merge.h"
#include "support/stage.h"

namespace syncopate::testing {

class GroupPlay final : private Machine::Observer {
 public:
  GroupPlay();
  /// What went wrong; empty if nothing did.
  const std::string& run(const GroupPlan& plan, Machine::Scheduler& scheduler, bool trace = false);

  std::uint64_t steps() { return stage_.machine().steps(); }
  std::uint64_t rounds() const { return rounds_run_; }
  /// Steps of all plays in which a rank came too late.
  std::uint64_t late() const { return late_; }

 private:
  static constexpr int kMostRanks = 4;
  static constexpr int kMostSteps = 8;
  static constexpr std::size_t kMostElements = 5;
  using Values = std::array<double, kMostElements>;

  /// The round of a group at a step, as the play has seen it.
  struct Round {
    bool started = false;
    bool done = false;
    std::array<int, kMostRanks> newest{};  ///< Publications when it was started.
    Ranks gone = 0;                        ///< Known to be dead, or left, at that time.
    Ranks members = 0;
    std::array<int, kMostRanks> used{};
    Values mean{};
    std::uint64_t staleness = 0;
  };

  void look(int rank, Step at) override;
  void idle() override;
  void scan();
  void note_start(int step, int group);
  void note_result(int step, int group, int buffer);
  bool everyone_at(int step) const;
  int group_of(int step, int rank) const;
  Ranks members_of(int step, int group) const;
  Ranks gone() const;

  void act(int rank);
  void fill(int rank, int step, double* values);
  void check(int rank, const GroupReceipt& receipt, const double* weights);
  void close(Machine::Outcome outcome);
  double value(int rank, int step, std::size_t element) const;
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  Stage stage_;
  const GroupPlan* plan_ = nullptr;
  bool trace_ = false;
  std::string failure_;
  std::unique_ptr<round::GroupSchedule> schedule_;
  std::vector<std::unique_ptr<group::Exchange>> exchanges_;
  std::array<std::array<Round, kMostRanks>, kMostSteps> rounds_{};
  std::array<GroupMerge<double>, kMostRanks> merges_;
  std::array<Step, Machine::kMostRanks> last_step_{};
  std::array<int, Machine::kMostRanks> step_{};  ///< That each rank is in.
  Ranks leaving_ = 0;                            ///< Ranks that have begun to leave …
  Ranks left_ = 0;                               ///< … and those that have.
  Ranks waiting_ = 0;
  std::uint64_t rounds_run_ = 0;
  std::uint64_t late_ = 0;
  const std::function<void(int)> body_;
};

}  // namespace syncopate::testing

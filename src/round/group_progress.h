// What the ranks of all machines have seen, as far as one machine knows: whether the window lets a
// round start, and how machines that are held up ask the others. Like the agreement whose part it
// is (group_agreement.h) it has no clock.
//
// A machine that is held up asks a few that lag directly. Where more lag, it asks the coordinator
// of the step that has to be seen, which asks them once for all.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "round/group_message.h"
#include "round/machines.h"

namespace syncopate::round {

class GroupProgress {
 public:
  GroupProgress(int window, int machines, int machine)
      : window_(static_cast<std::uint64_t>(window)),
        machine_(machine),
        seen_(machines),
        at_least_(machines - 1),
        asked_(machines) {}

  /// Takes in what the ranks of this machine have seen, and answers machines that wait for it.
  void observe(std::span<const GroupFacts> own, GroupOutbox& out);
  /// Asks others where a rank of this machine is held up by the window.
  void ask_who_lags(std::span<const GroupFacts> own, GroupOutbox& out);

  /// Every rank of a machine, or of all, has seen a step.
  void note_seen(int machine, std::uint64_t step);
  void note_all_seen(std::uint64_t step);
  /// A machine wants to hear when the ranks of this one, or of all, have seen a step.
  void note_asker(int machine, std::uint64_t step) { add(askers_, machine, step); }
  void note_asker_of_all(int machine, std::uint64_t step) { add(askers_of_all_, machine, step); }

  bool window_allows(std::uint64_t step) const { return slowest_ + window_ >= step; }
  /// What every rank of the other machines has seen.
  std::uint64_t elsewhere() const { return machines() > 1 ? elsewhere_ : kBeyondAllSteps; }
  /// Whether some rank waits until others catch up, which may be on this machine.
  bool held_up() const { return held_up_; }

 private:
  /// A machine that wants to hear that ranks have seen steps.
  struct Asker {
    int machine = 0;
    std::uint64_t first = 0;  ///< The first step that it waits for …
    std::uint64_t last = 0;   ///< … and the last.
    std::uint64_t told = 0;
  };

  int machines() const { return static_cast<int>(seen_.size()); }
  static void add(std::vector<Asker>& askers, int machine, std::uint64_t step);
  void ask_those_that_lag(std::uint64_t step, GroupOutbox& out);
  void answer_about_own(std::uint64_t seen, GroupOutbox& out);
  void answer_about_all(std::uint64_t seen, GroupOutbox& out);

  std::uint64_t window_;
  int machine_;
  std::vector<std::uint64_t> seen_;      ///< What every rank of each other machine has seen, …
  std::uint64_t elsewhere_ = 0;          ///< … the least of it, …
  int at_least_;                         ///< … and how many machines have seen no more.
  std::vector<std::uint64_t> asked_;     ///< The step for which each machine was asked last.
  std::set<std::uint64_t> asked_steps_;  ///< Those that others were asked about.
  std::vector<Asker> askers_;            ///< About this machine's ranks …
  std::vector<Asker> askers_of_all_;     ///< … and about those of all.
  std::uint64_t slowest_ = 0;            ///< What every rank of every machine has seen.
  bool held_up_ = false;
};

}  // namespace syncopate::round

// A world of several machines that average in groups, in which only the agreement on groups is
// real: ranks, boards, messages and the clock are played. Messages between two machines keep their
// order and are otherwise delayed at will; machines look at their boards, bring their shares, sum
// up and gather whenever the random schedule says so. Every play is checked:
//   - a round starts only when a rank waits for it and its trigger, its grace and the window
//     allow
//   - no round waits for time to pass where all have come
//   - each machine of a group brings its share once, and all of them know the same shares
//   - all ranks average together with the newest weights of all
//   - the play comes to its end: no round that could start stays unstarted, and no message of
//     weight reaches a machine that has ended
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explorer/random.h"
#include "explorer/random_play.h"
#include "round/group_agreement.h"

namespace syncopate::testing {

struct GroupMachinesPlan {
  std::vector<int> machine_of;  ///< Of every rank.
  GroupOptions options;
  int steps = 4;           ///< Of every rank.
  bool departures = true;  ///< Some ranks leave or die on the way.

  /// Any of them, by a number.
  static GroupMachinesPlan random(std::uint64_t seed, int most_machines, int most_ranks_each);
  std::string text() const;
};

class GroupMachinesPlay : private RandomPlay {
 public:
  GroupMachinesPlay(const GroupMachinesPlan& plan, std::uint64_t seed);

  /// Plays to the end; returns what went wrong, or nothing.
  std::string run();

 private:
  struct Rank {
    int machine = 0;
    int number = 0;  ///< Within the machine.
    bool counts = true;
    int steps_left = 0;
    std::uint64_t published = 0;
    std::uint64_t seen = 0;
    bool waits = false;
    bool dies = false;          ///< While it waits.
    round::GroupRound round{};  ///< What it has published for, and whether that
    bool spans = false;         ///< is for ranks of several machines.
  };
  struct Machine {
    round::GroupAgreement agreement;
    std::vector<int> ranks;
    std::set<round::GroupRound> results;
    std::set<round::GroupRound> summing;  ///< Rounds whose shares are all known.
    std::uint64_t elsewhere = 0;          ///< What the board says that the others have seen.
    bool blocked = false;                 ///< A rank that catches up has to say so.
    bool news = true;  ///< Something on the board that the agreement has not been told.
    round::Time again_at = 0;
    int gathered = 0;  ///< How often this machine has heard the lines of all.
    bool gathering = false;
  };
  struct Record {
    round::Time wanted_at = round::kNever;  ///< When the first member waited for it.
    std::map<int, round::GroupShare> shares;
    int summing = 0;
  };
  struct Lines {
    std::vector<round::GroupAgreement::MachineReport> reports;
    int said = 0;
  };
  struct Choice {
    enum class Kind { act, run, look, bring, sum, end, gather, hear_lines, deliver };
    Kind kind;
    int who;  ///< A rank or a machine.
    int to = 0;
    round::GroupRound round{};
  };

  bool done(const Rank& rank) const { return machines_[rank.machine].results.contains(rank.round); }
  bool can_run(const Rank& rank, int number) const;
  std::vector<round::GroupFacts> facts(const Machine& machine) const;

  void act(int number);
  void publish(int number);
  void look(int machine);
  void post(int machine);
  void deliver(int from, int to);
  void bring(int machine, const round::GroupRound& round);
  void check_start(int machine, const round::GroupRound& round);
  void sum(int machine, const round::GroupRound& round);
  void gather(int machine);
  void hear_lines(int machine);

  int list_choices() override;
  void list_choices_of(int machine);
  void check_nobody_waits_in_vain();
  void take(int choice) override;
  round::Time next_moment() const override;
  bool over() const override;

  GroupMachinesPlan plan_;
  round::GroupPlan groups_;
  std::vector<Rank> ranks_;
  std::vector<Machine> machines_;
  std::map<std::pair<int, int>, std::deque<round::GroupMessage>> mail_;
  std::map<round::GroupRound, Record> records_;
  std::vector<Lines> gatherings_;
  std::vector<Choice> choices_;
};

}  // namespace syncopate::testing

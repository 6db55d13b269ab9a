// A world of several machines in which only the agreement is real: ranks, boards, messages and the
// clock are played. Messages between two machines keep their order and are otherwise delayed at
// will; machines look at their boards, take part and hear of the end of a round whenever the
// random schedule says so. Every play is checked:
//   - a round starts only when its trigger holds, a rank waits for it and the window allows it
//   - every deposit is in exactly one round, and all machines go through the same rounds
//   - the play comes to its end: no round that could start stays unstarted
//   - the start of a round travels in no more messages than it should
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "explorer/random.h"
#include "explorer/random_play.h"
#include "round/agreement.h"

namespace syncopate::testing {

/// The machine of every rank of any world of several machines.
std::vector<int> machines_of_ranks(Random& random, int most_machines, int most_ranks_each);

struct MachinesPlan {
  std::vector<int> machine_of;  ///< Of every rank.
  Trigger trigger;
  int window = 3;
  Duration grace{0};
  int steps = 4;           ///< Deposits that every rank makes.
  bool departures = true;  ///< Some ranks leave or die on the way.
  std::uint64_t rounds_before = 0;

  /// Any of them, by a number.
  static MachinesPlan random(std::uint64_t seed, int most_machines, int most_ranks_each);
  std::string text() const;
};

class MachinesPlay : private RandomPlay {
 public:
  MachinesPlay(const MachinesPlan& plan, std::uint64_t seed);

  /// Plays to the end; returns what went wrong, or nothing.
  std::string run();

 private:
  enum class Participation { active, following, left, dead };
  struct Rank {
    int machine = 0;
    int number = 0;  ///< Within the machine.
    Participation participation = Participation::active;
    int steps_left = 0;
    int made = 0;
    int on_board = 0;
    int taken = 0;
    std::uint64_t seen = 0;
    std::uint64_t waits_for = 0;  ///< 0: none.
    bool finished = false;
  };
  struct Machine {
    round::Agreement agreement;
    std::vector<int> ranks;
    std::uint64_t published = 0;
    bool joined = false;
    bool news = true;  ///< Something on the board that the agreement has not been told.
    round::Time again_at = 0;
    bool over = false;
  };
  struct RoundRecord {
    std::vector<round::Facts> facts;
    int joined = 0;
    bool last = false;
  };

  struct Choice {
    enum class Kind { act, look, join, end_round, deliver };
    Kind kind;
    int who;  ///< A rank or a machine.
    int to = 0;
  };

  int list_choices() override;
  void take(int choice) override;
  round::Time next_moment() const override;
  std::uint64_t round_of(const Machine& machine) const { return machine.published + 1; }
  bool alive(const Rank& rank) const { return rank.participation != Participation::dead; }
  bool rank_can_act(const Rank& rank) const;
  void act(Rank& rank);
  round::Facts facts(const Machine& machine) const;
  void look(int machine);
  void post(int machine);
  void join(int machine);
  void end_round(int machine);
  void deliver(int from, int to);
  round::Attendance attendance(std::uint64_t round) const;
  void note_truth();
  void check_start(std::uint64_t round);
  void check_joined(const RoundRecord& record, std::uint64_t round);
  bool over() const override;

  MachinesPlan plan_;
  std::vector<Rank> ranks_;
  std::vector<Machine> machines_;
  std::map<std::pair<int, int>, std::deque<round::Message>> mail_;
  std::map<std::uint64_t, RoundRecord> rounds_;
  std::uint64_t held_ = 0;  ///< The last round whose trigger has held.
  std::uint64_t starts_ = 0;
  std::vector<Choice> choices_;
};

}  // namespace syncopate::testing

// What the machines tell each other of a round of a partial allreduce as they take part in it: a
// report each, with sets of their ranks and, if it is short, the machine's sum. All reports are
// gathered by every machine, and checked before anything of them is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/fabric.h"
#include "partial/machine_rounds.h"
#include "round/agreement.h"
#include "round/machines.h"

namespace syncopate::detail {

class RoundReports {
 public:
  /// What a machine says, but for the sets.
  struct MachineReport {
    double weight = 0;
    std::uint64_t staleness = 0;
    std::uint64_t seen = 0;
    std::int64_t newest_at = 0;  ///< When its last contributor came, by the common clock.
    std::int64_t step_time = 0;  ///< The median of its ranks.
    std::uint32_t dropped = 0;
    std::uint32_t parting_drops = 0;
    int newest = -1;      ///< By its number in the world.
    int slowest = -1;     ///< Within the machine: who has seen no more than `seen`.
    int held_up_by = -1;  ///< Whose lag held the round up, by its number in the world.
    int contributors = 0;
  };
  /// Of ranks, counted within the machine.
  enum Set { contributors, reporters, parting_reporters, counting, sets };

  /// `values_bytes` are those of a sum that goes with each report; 0 if none does.
  RoundReports(round::Machines machines, std::size_t values_bytes);

  std::size_t values_bytes() const { return mine_.size() - report_bytes_; }
  const round::Machines& machines() const { return machines_; }

  // This machine's own.
  /// Completes `report` by what this machine took, and by what its board said then.
  void pack(MachineReport report, const partial::MachineRounds::Share& share,
            const round::Facts& facts);
  std::byte* own_values() { return mine_.data() + report_bytes_; }
  std::unique_ptr<fabric::Operation> gather(fabric::Channel& channel) {
    return channel.gather(mine_.data(), mine_.size(), reports_.data());
  }

  // Those of all, once they are gathered.
  /// Throws BadMessage for a report that cannot be one of round `round`.
  void check(std::uint64_t round) const;
  MachineReport report(int machine) const;
  struct Totals {
    double weight = 0;
    int contributors = 0;
    double heaviest = 0;  ///< The weight of the machine that has most.
  };
  Totals totals() const;
  /// What the machines say together.
  struct Merged {
    partial::MachineRounds::Said said;
    std::vector<round::Facts> facts;  ///< Of each machine when it took part.
    Duration typical_step{0};         ///< The median of the machines.
  };
  Merged merge(std::uint64_t round) const;
  bool contains(int machine, Set which, int rank) const;
  const std::byte* values(int machine) const {
    return reports_.data() + machine * mine_.size() + report_bytes_;
  }

 private:
  std::uint64_t word(int machine, Set which, std::size_t index) const;
  /// The ranks in these sets, by their numbers in the world.
  void add_to(std::span<std::uint64_t> ranks, Set which) const;

  const round::Machines machines_;
  std::size_t set_words_;
  std::size_t report_bytes_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> reports_;
};

}  // namespace syncopate::detail

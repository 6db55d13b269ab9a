// A rank's slots, and which of them has its newest weights. Unlike a deposit, a publication is not
// used up: several rounds may read it, and a late rank's older one is read again.
//
// Invariants
// 1. Only its owner publishes, and steps only grow.
//      check: publish                                 test: PublicationsOnlyGrow
// 2. The newest publication of a rank is not written over.
//      check: publish                                 test: TheNewestPublicationIsNotWrittenOver
// 3. A publication that is proposed or confirmed in an unfinished round is not written over. Owner
//    and helper each write their own word (publication, member word) before they read the other's,
//    as hazard pointers do, so one of them always notices. (A helper that slept may propose one
//    that its owner writes by now; it finds a newer one and does not confirm it.)
//      check: Exchange::publish (is_confirmed)        test: GroupExplorer, PinnedSlots,
//                                                           AConfirmedPublicationIsNotHandedOut
#pragma once

#include <functional>
#include <optional>

#include "group/results.h"

namespace syncopate::group {

/// This rank's group at a step.
using GroupOf = std::function<int(RoundNumber)>;

class Publications {
 public:
  Publications(const Memory& memory, const Shape& shape, const Participants& participants,
               const Results& results)
      : memory_(memory), shape_(shape), participants_(participants), results_(results) {}

  /// Where this rank's weights are in a slot.
  void* values(int slot) const { return memory_.values(participants_.me(), slot); }
  /// A slot that neither holds this rank's newest publication nor is read by the rounds of ranks
  /// that are ahead; kNoSlot if there is none.
  int free_slot(RoundNumber own_step, const GroupOf& group_of) const;
  /// Whether an unfinished round ahead has `slot` confirmed. For checks: looks without steps.
  bool is_confirmed(int slot, RoundNumber own_step, const GroupOf& group_of) const;
  /// Makes `slot` this rank's newest weights, those of `step`.
  void publish(int slot, RoundNumber step);
  Publication newest(int rank) const {
    return Publication::unpack(memory_.ranks[rank].publication.load());
  }

  /// Steps between the round and this rank's publication in its result; -1 if it is not in it.
  int own_lag(RoundNumber step) const;
  /// The oldest publication of this rank in rounds that it has yet to be through.
  std::optional<RoundNumber> oldest_copy_ahead() const;

 private:
  const Memory& memory_;
  const Shape& shape_;
  const Participants& participants_;
  const Results& results_;
};

}  // namespace syncopate::group

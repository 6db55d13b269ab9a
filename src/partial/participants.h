// Who takes part in the rounds of one collective, who has come and who waits: what triggers and
// windows ask. Read from the board at the moment of the question.
//
// Invariants
// 1. A rank writes only its own state; the others read it. (A launcher or a waiting rank notes
//    deaths in the roster.)
//      test: tests/explorer
// 2. A participation only moves on: active, finishing, left.
//      check: set_participation                           test: AParticipationOnlyMovesOn
// 3. A rank says that it waits before it looks for a reason to, so that a rank which comes later
//    sees it.
//      test: tests/explorer (a rank that sleeps though a round could start)
#pragma once

#include "board/roster.h"
#include "partial/memory.h"
#include "partial/notifier.h"
#include "partial/settled.h"

namespace syncopate::partial {

/// How a rank takes part in the rounds of one collective.
enum class Participation : std::uint8_t {
  active,     // makes deposits; triggers count on it
  finishing,  // has no more data, but follows the rounds to the end
  left,       // went: no round waits for it
};

class Participants {
 public:
  Participants(const Memory& memory, const Shape& shape, const Settled& settled,
               board::Roster& roster, const Notifier& notifier)
      : memory_(memory), shape_(shape), settled_(settled), roster_(roster), notifier_(notifier) {}

  int count() const { return shape_.ranks; }
  int me() const { return roster_.local_rank(); }

  Participation participation(int rank) const {
    return static_cast<Participation>(memory_.participations[rank].load());
  }
  /// `drops`: of deposits that this rank has not reported yet.
  void set_participation(Participation participation, std::uint32_t drops);
  /// Whether rounds may be waited for on this rank's account.
  bool counts(int rank) const {
    return participation(rank) == Participation::active && roster_.expected(rank);
  }
  /// Whether it has not gone for good: it may hold rounds up, and read results.
  bool follows(int rank) const {
    return participation(rank) != Participation::left && roster_.expected(rank);
  }

  /// What a round has taken that this rank has settled is no longer there.
  bool has_deposit(int rank) const {
    const auto word = DecideWord::unpack(memory_.words[rank].load());
    return word.deposit != 0 && word.decided >= settled_.through;
  }
  /// To be called once after each arrival if a round needs all: whether ours completes it. Costs
  /// one counter, so that a rank which is not the last can leave the board alone.
  bool completes_attendance();

  /// Says that this rank waits for `round`; 0: for none.
  void set_waiting(RoundNumber round) {
    Shared<RoundNumber>& mark = memory_.ranks[me()].waiting;
    // Only the beginning of a wait has to be seen before what this rank does next.
    round != 0 ? mark.store(round) : mark.store_release(0);
  }
  /// Whether a rank waits for this very round. One that has yet to wake up from the round before
  /// does not: it may not want another.
  bool anyone_waits(RoundNumber round) const;

  RoundNumber seen(int rank) const { return memory_.ranks[rank].seen.load(); }
  /// Whether `rank` has yet to see `round − window`, so that `round` waits for it.
  bool holds_up(int rank, RoundNumber round) const {
    return follows(rank) && seen(rank) + shape_.window < round;
  }

  void note_step_time(Duration time) { memory_.ranks[me()].step_time.store_relaxed(time.count()); }
  Duration step_time(int rank) const {
    return Duration(memory_.ranks[rank].step_time.load_relaxed());
  }

 private:
  const Memory& memory_;
  const Shape& shape_;
  const Settled& settled_;
  board::Roster& roster_;
  const Notifier& notifier_;
};

}  // namespace syncopate::partial

// What a machine tells the coordinator of a round: what decides something, at once or when it is
// asked; and in a long wait a few times more. An answer that would hold no news is not given.
#pragma once

#include "round/message.h"
#include "round/round_state.h"

namespace syncopate::round {

/// How long a machine that takes part on its own account waits for the others before it tells, and
/// the coordinator before it asks.
inline constexpr Time kBriefly = 500'000;

class Reporter {
 public:
  /// A round begins, of which the coordinator knows what all do.
  void begin(const RoundState& round);
  /// The coordinator asks.
  void hear(const Message& question, Time now);
  /// This machine's own state has changed.
  void note_own(const RoundState& round, Time now);
  /// Tells what is due; returns when to call again.
  Time report(const RoundState& round, Time now, Outbox& outbox);

 private:
  Time when_to_tell(const RoundState& round, Time now) const;
  /// When to tell what decides something; kNever if nothing does.
  Time when_decided(const RoundState& round, Time now) const;
  Time when_all_decided(const RoundState& round, Time now) const;
  /// Whether no rank here lags any longer, which the coordinator does not know.
  bool caught_up_now(const RoundState& round) const {
    return round.own.seen >= round.needed() && told_.seen < round.needed();
  }
  /// Whether the coordinator counts on further news.
  bool subscribed() const { return told_any_ || asked_; }

  Facts told_;               ///< What the coordinator takes for true of this machine.
  bool told_any_ = false;    ///< It was told in this round …
  bool asked_ = false;       ///< … or has asked,
  bool waited_ = false;      ///< knowing that a rank waits,
  int drawn_ = -1;           ///< and that this rank starts the round.
  bool answer_due_ = false;  ///< The last question is still to be answered.
  Time asked_at_ = kNever;
  Time caught_up_at_ = kNever;  ///< When no rank here lagged any longer.
  int without_decision_ = 0;    ///< How often it was told what decides nothing.
};

}  // namespace syncopate::round

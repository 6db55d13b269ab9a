#include "partial/participants.h"

#include "base/check.h"

namespace syncopate::partial {

void Participants::set_participation(Participation participation, std::uint32_t drops) {
  SYNCOPATE_CHECK(
      memory_.participations[me()].load_relaxed() <= static_cast<std::uint8_t>(participation),
      "participants.h 2: a participation only moves on");
  memory_.ranks[me()].dropped.store_relaxed(drops);
  memory_.participations[me()].store(static_cast<std::uint8_t>(participation));
  notifier_.tell();
}

bool Participants::completes_attendance() {
  const std::uint64_t arrivals = memory_.arrivals->increment();
  for (int rank = 0; rank < count(); ++rank) {
    if (!counts(rank)) return true;  // Not every round has had an arrival of each.
  }
  return arrivals % count() == 0;
}

bool Participants::anyone_waits(RoundNumber round) const {
  for (int rank = 0; rank < count(); ++rank) {
    if (memory_.ranks[rank].waiting.load() == round && roster_.expected(rank)) return true;
  }
  return false;
}

}  // namespace syncopate::partial

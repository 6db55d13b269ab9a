#include "group/publications.h"

#include <array>

#include "base/check.h"

namespace syncopate::group {

using board::step;
using board::Step;
using Phase = MemberWord::Phase;

int Publications::free_slot(RoundNumber own_step, const GroupOf& group_of) const {
  const int me = participants_.me();
  std::array<bool, Memory::kSlots> busy{};
  busy[newest(me).slot] = true;
  for (RoundNumber ahead = own_step + 1; ahead <= own_step + shape_.window; ++ahead) {
    const auto word = MemberWord::unpack(memory_.member_word(ahead, me).load());
    if (word.round != ahead || (word.phase != Phase::proposed && word.phase != Phase::confirmed)) {
      continue;
    }
    if (results_.buffer_of({.step = ahead, .group = group_of(ahead)}) == kNoBuffer) {
      busy[word.slot] = true;
    }
  }
  for (int slot = 0; slot < Memory::kSlots; ++slot) {
    if (!busy[slot]) return slot;
  }
  return kNoSlot;
}

void Publications::publish(int slot, RoundNumber step_number) {
  step(Step::deposit);
  Shared<std::uint64_t>& word = memory_.ranks[participants_.me()].publication;
  const auto before = Publication::unpack(word.load_relaxed());
  SYNCOPATE_CHECK(before.step < step_number || step_number == 0,
                  "publications.h 1: steps only grow");
  SYNCOPATE_CHECK(before.slot != slot || step_number == 0,
                  "publications.h 2: the newest is not written over");
  word.store(Publication{.step = step_number, .slot = slot}.pack());
}

bool Publications::is_confirmed(int slot, RoundNumber own_step, const GroupOf& group_of) const {
  for (RoundNumber ahead = own_step + 1; ahead <= own_step + shape_.window; ++ahead) {
    const auto word =
        MemberWord::unpack(memory_.member_word(ahead, participants_.me()).load_relaxed());
    if (word.round != ahead || word.phase != Phase::confirmed || word.slot != slot) continue;
    const Record& record = memory_.record({.step = ahead, .group = group_of(ahead)});
    if (AttemptWord::unpack(record.done.load_relaxed()).round != ahead) return true;
  }
  return false;
}

std::optional<RoundNumber> Publications::oldest_copy_ahead() const {
  const int me = participants_.me();
  const RoundNumber through = newest(me).step;
  std::optional<RoundNumber> oldest;
  for (RoundNumber ahead = through + 1; ahead <= through + shape_.window; ++ahead) {
    const auto word = MemberWord::unpack(memory_.member_word(ahead, me).load());
    if (word.round != ahead || word.phase == Phase::absent) continue;
    const RoundNumber copy = ahead - word.lag;
    if (!oldest || copy < *oldest) oldest = copy;
  }
  return oldest;
}

int Publications::own_lag(RoundNumber step_number) const {
  const auto word = MemberWord::unpack(memory_.member_word(step_number, participants_.me()).load());
  return word.round == step_number && word.phase == Phase::confirmed ? word.lag : -1;
}

}  // namespace syncopate::group

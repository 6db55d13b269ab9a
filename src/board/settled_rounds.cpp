// Rounds that two ranks settle between themselves (see partial_board.h).
#include <algorithm>

#include "board/partial_board.h"

namespace syncopate::board {
namespace {

/// Up to here two ranks settle rounds: above, they are faster if each sums up half. (In test builds
/// vectors of more than two elements are not settled, so that these have plain rounds as well.)
constexpr std::size_t kMostToSettle = kStepped ? 2 * sizeof(double) : 8 << 10;

}  // namespace

bool PartialShape::settles() const {
  return ranks == 2 && !across() && waits_for_all && younger_than == LatePolicy::forever &&
         elements * size_of(type) <= kMostToSettle;
}

bool PartialBoard::may_be_firm(int slot, RoundNumber round) const {
  if (!shape_.settles() || slot != firm_slot(round)) return false;
  if (just_settled_) return true;
  // With an older deposit on the board this one would have to be added to it; and where a round has
  // decided that we have not seen, it would be for the next.
  const DecideWord word = own_word(words_[roster_.rank()].load());
  return word.deposit == 0 && word.decided + 1 == round;
}

bool PartialBoard::settle(RoundNumber round) {
  if (!met(round)) return false;
  ResultHeader header;
  std::fill(gathered_.begin(), gathered_.end(), firm_slot(round));
  gather(round, /*last=*/false, header);
  header.newest = static_cast<std::int16_t>(other());  // If we waited, then for the other.
  step(Step::reduce);
  reduction_.describe(own_buffer(), header, contributors_, reporters_);
  weighted_sum(shape_.type, shape_.elements, terms_, scale(header),
               reduction_.values(own_buffer()));
  settled_ = round;
  just_settled_ = true;
  expected_word_ = words_[roster_.rank()].load();
  return true;
}

void PartialBoard::catch_up() {
  if (published() >= settled_) return;
  std::uint64_t value = control_->attempt.load();
  const auto before = AttemptWord::unpack(value);
  // A round that is under way comes first, or is the one.
  if (before.round < settled_ && before.round == published()) {
    control_->attempt.replace(value, AttemptWord{.round = settled_, .buffer = kSettled}.pack());
  }
  help();
}

}  // namespace syncopate::board

// A rank in a group average. What it publishes at a step is a function of both alone, with a column
// of the vector to itself, so that the new weights tell which publication of each member was used.
#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "campaign/player.h"

namespace syncopate::campaign {

template <typename T>
class GroupPlayer : public Player {
 public:
  GroupPlayer(Notes& notes, const World& world, int index, const Collective& collective)
      : notes_(notes),
        index_(index),
        collective_(collective),
        ranks_(world.size()),
        own_(collective.elements),
        average_(world, initial(), collective.group) {}

  void step(bool /*alone*/) override {
    if (gone_) return;
    write(++step_, notes_.rank());
    std::copy(own_.begin(), own_.end(), average_.weights());
    Track& mine = track();
    notes_.expect(mine.deposits < kMostDeposits, "more steps than the book has room for");
    ++mine.deposits;
    if (!notes_.in_time(Call::publish, index_, [&] { average_.start(); })) return give_up();
    GroupReceipt receipt;
    int tries = 0;
    while (!notes_.in_time(Call::average, index_, [&] { receipt = average_.wait(); })) {
      if (++tries == kMostTries) return give_up();
    }
    read(receipt);
  }

  void stop() override { track().stopped_at = clock_now(); }
  bool follow() override {
    finish();
    return true;
  }
  void finish() override {
    if (!gone_) leave();
  }
  void leave() override {
    track().stopped_at = clock_now();
    notes_.in_time(Call::leave, index_, [&] { average_.leave(); });
    gone_ = true;
    track().parting = Parting::left;
    notes_.refused(ErrorCode::closed, "a step after leave()", [&] { average_.start(); });
  }

 private:
  /// More than any window here, so that a column tells the step.
  static constexpr std::uint64_t kTold = 31;
  static constexpr int kMostTries = 100;

  std::size_t columns() const { return std::size_t(ranks_) + 1; }
  Track& track() { return notes_.mine().tracks[index_]; }

  void write(std::uint64_t step, int rank) {
    for (std::size_t e = 0; e < own_.size(); ++e) {
      const std::size_t column = e % columns();
      own_[e] = 0;
      if (column + 1 == columns()) own_[e] = step == 0 ? 1 : 2;
      if (step > 0 && column == std::size_t(rank)) own_[e] = T(1 + step % kTold);
    }
  }
  std::vector<T>& initial() {
    write(0, 0);
    return own_;
  }

  void give_up() {
    track().gave_up = true;
    leave();
  }

  void read(const GroupReceipt& receipt) {
    const T* weights = average_.weights();
    notes_.expect(receipt.step == step_, "the receipt of another step");
    const int every = collective_.group.synchronize_every;
    notes_.expect(receipt.everyone == (every > 0 && step_ % every == 0),
                  "a step of everyone, or not, at the wrong time");
    notes_.expect(receipt.members.contains(notes_.rank()), "a group without this rank");
    notes_.expect(receipt.included == (receipt.own_staleness == 0), "included, and stale");
    Track& mine = track();
    notes_.expect(mine.rounds < kMostRounds, "more steps than the book has room for");
    Seen& seen = mine.seen[mine.rounds];
    seen = {.round = receipt.step,
            .print = std::hash<std::string_view>()(
                {reinterpret_cast<const char*>(weights), own_.size() * sizeof(T)}),
            .contributors = bits_of(receipt.members),
            .dropped = 0,
            .dead = bits_of(receipt.dead),
            .included = receipt.included,
            .last = receipt.everyone,
            .decoded = false,
            .drops = 0,
            .staleness = receipt.staleness,
            .weight = 0,
            .at = clock_now(),
            .sums = {}};
    const bool shown = receipt.included || collective_.group.late == LateMerge::average;
    if (shown && own_.size() >= columns()) decode(seen, receipt, weights);
    ++mine.rounds;
    ++notes_.mine().all_rounds;
    ++notes_.mine().events;
  }

  void decode(Seen& seen, const GroupReceipt& receipt, const T* weights) {
    const int members = receipt.members.size();
    std::uint64_t oldest = 0;
    for (const int member : receipt.members.list()) {
      double sum = double(weights[member]) * (receipt.included ? members : members + 1);
      if (!receipt.included) sum -= double(own_[member]);
      const double code = std::round(sum);
      notes_.expect(std::abs(sum - code) < 0.01, "a mean that no publications make");
      const std::uint64_t step = step_of(code);
      seen.sums[member][0] = double(step);
      oldest = std::max(oldest, step_ - step);
      if (member == notes_.rank()) {
        notes_.expect(step_ - step == receipt.own_staleness, "another publication of its own");
      }
    }
    notes_.expect(oldest == receipt.staleness,
                  "the receipt says " + std::to_string(receipt.staleness) +
                      " steps of staleness, the weights " + std::to_string(oldest));
    for (std::size_t e = columns(); e < own_.size(); ++e) {
      notes_.expect(weights[e] == weights[e % columns()],
                    "element " + std::to_string(e) + " differs from its likes");
    }
    seen.decoded = true;
  }

  std::uint64_t step_of(double code) const {
    if (code == 0) return 0;
    for (std::uint64_t step = step_; step > 0 && step + kTold > step_; --step) {
      if (double(1 + step % kTold) == code) return step;
    }
    throw Complaint("no publication has the code " + std::to_string(code));
  }

  Notes& notes_;
  int index_;
  const Collective& collective_;
  int ranks_;
  std::vector<T> own_;
  GroupAverage<T> average_;
  std::uint64_t step_ = 0;
  bool gone_ = false;
};

}  // namespace syncopate::campaign

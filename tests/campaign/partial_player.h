// A rank in a partial allreduce, or in an allreduce. Each element belongs to a rank and says one of
// two things of its deposits: their words, or only that they are there. So the judge can tell from
// the sums which deposits of whom are in them, with their weights.
#pragma once

#include <unistd.h>

#include <cmath>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "campaign/player.h"

namespace syncopate::campaign {

template <typename T, typename Sum>
class PartialPlayer : public Player {
 public:
  PartialPlayer(Notes& notes, const World& world, int index, const Collective& collective,
                Random& random)
      : notes_(notes),
        index_(index),
        collective_(collective),
        random_(random),
        ranks_(world.size()),
        rounds_(make(world, collective)),
        buffer_(collective.elements) {
    if constexpr (kPartial) {
      if (collective.keeps) rounds_.keep_deposits();
    }
  }

  void step(bool alone) override {
    if (outstanding_ >= kMostOutstanding) return read_waiting();
    if constexpr (kPartial) {
      switch (random_.below(6)) {
        case 0:
          for (int deposits = alone ? random_.between(1, 3) : 1; deposits > 0; --deposits) start();
          return read_waiting();
        case 1:
          start();
          for (int looks = random_.below(4); looks > 0 && !ready(); --looks) usleep(20);
          if (alone && lazy_ < kMostLazy && !ready()) {
            ++lazy_;
            return;
          }
          return read_waiting();
        case 2:
          if (!collective_.empties) break;
          notes_.in_time(Call::start, index_, [&] { rounds_.start_empty(); });
          return read_waiting();
        default:
          break;
      }
    }
    exchange();
  }

  void stop() override {
    track().stopped_at = clock_now();
    if constexpr (kPartial) notes_.in_time(Call::stop, index_, [&] { rounds_.stop(); });
  }

  bool follow() override {
    if constexpr (!kPartial) {
      if (!gone_) leave();
      return true;
    }
    if (gone_) return true;
    if (ready()) read_waiting();
    if (last_) depart(Parting::finished);
    return gone_;
  }

  void finish() override {
    if (gone_) return;
    if constexpr (!kPartial) {
      return leave();
    } else {
      track().stopped_at = clock_now();
      while (!last_) {
        try {
          notes_.in_time(Call::finish, index_, [&] {
            rounds_.finish([&](const Round<T>& round) {
              read(round);
              trip();
            });
          });
        } catch (const Trip&) {
          tripped_ = true;
        }
      }
      depart(Parting::finished);
      notes_.refused(ErrorCode::closed, "a deposit after finish()", [&] { rounds_.start(); });
    }
  }

  void leave() override {
    track().stopped_at = clock_now();
    notes_.in_time(Call::leave, index_, [&] { rounds_.leave(); });
    depart(Parting::left);
    notes_.refused(ErrorCode::closed, "a deposit after leave()", [&] { rounds_.start(); });
  }

 private:
  static constexpr bool kPartial = std::is_same_v<Sum, PartialAllreduce<T>>;
  static constexpr int kMostLazy = 2;
  static constexpr int kMostOutstanding = 40;  ///< Their words fit into eight bits.

  static Sum make(const World& world, const Collective& collective) {
    if constexpr (kPartial) {
      return Sum(world, collective.elements, collective.options);
    } else {
      return Sum(world, collective.elements, {.scale = collective.options.scale});
    }
  }

  Track& track() { return notes_.mine().tracks[index_]; }

  /// Writes the next deposit and notes it; returns its weight.
  double write(T* values) {
    Track& mine = track();
    const std::uint32_t number = mine.deposits;
    notes_.expect(number < kMostDeposits, "more deposits than the book has room for");
    constexpr double kWeights[] = {1, 2, 3, 0.5};
    const double weight = collective_.weighted ? kWeights[random_.below(4)] : 1;
    const double word = word_of(notes_.rank(), number, collective_.type);
    for (std::size_t e = 0; e < collective_.elements; ++e) {
      const bool own = int(e % ranks_) == notes_.rank();
      const double value = !own ? 0 : e / ranks_ % kKinds == 0 ? word : 1;
      values[e] = T(float(value));
    }
    Deposit& note = mine.deposit[number];
    note.weight = weight;
    note.base_least = std::uint32_t(tripped_ ? passed_ - 1 : passed_);
    note.base_most = std::uint32_t(std::max(handed_, passed_));
    note.made = false;
    note.dropped = false;
    ++mine.deposits;
    ++outstanding_;
    ++notes_.mine().events;
    return weight;
  }

  void note_made() {
    Track& mine = track();
    if constexpr (kPartial) {
      const std::uint64_t dropped = rounds_.dropped();
      notes_.expect(dropped == mine.drops || dropped == mine.drops + 1,
                    "one deposit, and " + std::to_string(dropped - mine.drops) + " were dropped");
      if (dropped != mine.drops) {
        mine.deposit[mine.deposits - 1].dropped = true;
        --outstanding_;
        mine.drops = dropped;
      }
    }
    mine.deposit[mine.deposits - 1].made = true;
  }

  void start() {
    const bool copied = random_.one_in(2);
    const double weight = write(copied ? buffer_.data() : rounds_.slot());
    notes_.begin(Call::start, index_);
    if (copied) {
      rounds_.start(buffer_, weight);
    } else {
      rounds_.start(weight);
    }
    note_made();
  }

  void exchange() {
    const bool copied = random_.one_in(2);
    const double weight = write(copied ? buffer_.data() : rounds_.slot());
    guarded([&] {
      const bool came = notes_.in_time(Call::exchange, index_, [&] {
        const Rounds<T> rounds =
            copied ? rounds_.exchange(buffer_, weight) : rounds_.exchange(weight);
        note_made();
        read_all(rounds);
      });
      if (!came) {
        note_made();  // A timeout leaves it on the board.
        track().gave_up = true;
      }
    });
  }

  void read_waiting() {
    lazy_ = 0;
    guarded([&] {
      if (!notes_.in_time(Call::wait, index_, [&] { read_all(rounds_.wait()); })) {
        track().gave_up = true;
      }
    });
  }

  /// A step may throw while it reads, and the next one goes on where it stood.
  template <typename Act>
  void guarded(const Act& act) {
    try {
      act();
    } catch (const Trip&) {
      tripped_ = true;
    }
  }

  bool ready() {
    bool result = false;
    notes_.in_time(Call::ready, index_, [&] { result = rounds_.ready(); });
    return result;
  }

  void read_all(const Rounds<T>& rounds) {
    notes_.expect(rounds.size() >= 1, "a wait that brought no round");
    notes_.expect(rounds.size() <= std::size_t(collective_.options.window) || tripped_,
                  std::to_string(rounds.size()) + " rounds at once");
    handed_ = rounds.begin()->number() + rounds.size() - 1;
    for (const auto& round : rounds) {
      read(round);
      trip();
    }
  }

  /// Not in an allreduce: it has no finish(), which would take what the rank deposits while it
  /// reads an older round once more.
  void trip() {
    if (kPartial && notes_.life().trips && random_.one_in(40)) throw Trip();
  }

  void read(const Round<T>& round) {
    // Where a step threw, the round it stood at comes again: it was read and not passed.
    const bool again = tripped_ && round.number() == passed_;
    notes_.expect(again || round.number() == passed_ + 1,
                  "round " + std::to_string(round.number()) + " after round " +
                      std::to_string(passed_) + (tripped_ ? ", where the step threw" : ""));
    notes_.expect(!last_ || again, "a round after the last one");
    Track& mine = track();
    const std::uint32_t index = mine.rounds;
    notes_.expect(index < kMostRounds, "more rounds than the book has room for");
    Seen& seen = mine.seen[index];
    const Receipt receipt = round.receipt();
    const std::span<const T> values =
        collective_.options.scale == Scale::none ? round.sum() : round.mean();
    notes_.expect(values.size() == collective_.elements, "a result of another length");
    notes_.expect(receipt.round == round.number(), "a receipt of another round");
    notes_.expect(receipt.waited.count() >= 0, "a wait of negative length");
    notes_.expect(receipt.waited_for >= -1 && receipt.waited_for < ranks_, "a wait for no rank");
    notes_.expect(receipt.included == receipt.contributors.contains(notes_.rank()),
                  "included, and not a contributor, or the reverse");
    seen = {.round = receipt.round,
            .print = std::hash<std::string_view>()(
                {reinterpret_cast<const char*>(values.data()), values.size_bytes()}),
            .contributors = bits_of(receipt.contributors),
            .dropped = bits_of(receipt.dropped),
            .dead = bits_of(receipt.dead),
            .included = receipt.included,
            .last = receipt.last,
            .decoded = true,
            .drops = receipt.drops,
            .staleness = receipt.staleness,
            .weight = receipt.weight,
            .at = clock_now(),
            .sums = {}};
    note_sums(seen, values, receipt);
    tripped_ = false;
    if (receipt.included) outstanding_ = 0;
    passed_ = round.number();
    last_ = receipt.last;
    if (again) return;
    ++mine.rounds;
    ++notes_.mine().all_rounds;
    ++notes_.mine().events;
  }

  /// What was divided is multiplied again; all elements of one rank and kind must agree.
  void note_sums(Seen& seen, std::span<const T> values, const Receipt& receipt) {
    double divisor = 1;
    if (collective_.options.scale == Scale::ranks) divisor = ranks_;
    if (collective_.options.scale == Scale::contributors) divisor = receipt.contributors.size();
    if (collective_.options.scale == Scale::weight) divisor = receipt.weight;
    if (divisor == 0) divisor = 1;  // Nothing is in it.
    const std::size_t told = std::size_t(ranks_) * kKinds;
    for (std::size_t e = 0; e < values.size(); ++e) {
      if (e >= told) {
        notes_.expect(number(values[e]) == number(values[e % told]),
                      "element " + std::to_string(e) + " of round " +
                          std::to_string(receipt.round) + " differs from its likes");
        continue;
      }
      const double sum = number(values[e]) * divisor;
      const double exact = std::round(sum * 2) / 2;  // Weights are multiples of a half.
      notes_.expect(std::abs(sum - exact) < 0.01,
                    "round " + std::to_string(receipt.round) + " has " + std::to_string(sum));
      seen.sums[e % ranks_][e / ranks_] = exact;
    }
  }

  static double number(T value) {
    if constexpr (sizeof(T) >= sizeof(float)) {
      return double(value);
    } else {
      return double(float(value));
    }
  }

  void depart(Parting parting) {
    gone_ = true;
    track().parting = parting;
  }

  Notes& notes_;
  int index_;
  const Collective& collective_;
  Random& random_;
  int ranks_;
  Sum rounds_;
  std::vector<T> buffer_;
  std::uint64_t passed_ = 0;  ///< The last round that was read.
  std::uint64_t handed_ = 0;
  int outstanding_ =
      0;  ///< Deposits that were not dropped, since the last round that had any of this rank.
  int lazy_ = 0;
  bool tripped_ = false;
  bool last_ = false;
  bool gone_ = false;
};

}  // namespace syncopate::campaign

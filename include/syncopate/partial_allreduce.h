// A sum over ranks that does not wait for everyone. Each rank deposits a vector on the
// board and gets back the result of every round since its last call, in order. When a round
// starts, and what becomes of late deposits, is chosen in PartialOptions.
//
// Promises: a carried deposit is in exactly one round; all ranks read bit-identical results;
// no rank skips a round; no rank waits for a dead one. docs/architecture.md says how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "syncopate/detail/partial_base.h"
#include "syncopate/policy.h"
#include "syncopate/receipt.h"
#include "syncopate/types.h"
#include "syncopate/world.h"

namespace syncopate {

struct PartialOptions {
  Trigger trigger = all();
  LatePolicy late = carry();
  Grace grace = no_grace();
  Scale scale = Scale::ranks;
  int window = 8;  ///< The most rounds a rank may lag behind before the others wait for it.
};

template <typename T>
class Rounds;
template <typename T>
class PartialAllreduce;

/// The result of one round. Valid while the Rounds it came from stands at it.
template <typename T>
class Round : private detail::RoundBase {
 public:
  using RoundBase::number;  ///< 1, 2, 3 …

  /// The sum divided as PartialOptions::scale says; throws if the scale is none.
  std::span<const T> mean() const { return typed(mean_values()); }
  /// The undivided sum; throws unless the scale is none.
  std::span<const T> sum() const { return typed(sum_values()); }

  using RoundBase::receipt;

 private:
  friend class Rounds<T>;
  Round(detail::PartialExchange& exchange, std::uint64_t number) : RoundBase(exchange, number) {}

  static std::span<const T> typed(const Values& values) {
    return {static_cast<const T*>(values.data), values.elements};
  }
};

/// The rounds a call returned, oldest first. A round is *passed* when the iteration moves on from
/// it; one that was read by front(), when this object ends or with the next call. Its memory may be
/// used again then. A round that is not passed is returned again, first, by the next exchange() or
/// wait(): after a step that throws, in the loop or with front(), no round is lost, and the one it
/// stood at comes once more. So it does after a `break`. A round that was not passed counts as not
/// seen: the others wait for this rank where the window ends.
template <typename T>
class [[nodiscard]] Rounds : private detail::RoundsBase {
 public:
  class Iterator {
   public:
    using value_type = Round<T>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    const Round<T>& operator*() const { return round_; }
    const Round<T>* operator->() const { return &round_; }
    Iterator& operator++() {
      round_.advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return round_.number() > last_; }

   private:
    friend class Rounds;
    Iterator(const Round<T>& round, std::uint64_t last) : round_(round), last_(last) {}

    Round<T> round_;
    std::uint64_t last_;
  };

  /// At the oldest that is not passed.
  Iterator begin() const { return {Round<T>(exchange(), first_not_passed()), last()}; }
  std::default_sentinel_t end() const { return {}; }
  using RoundsBase::size;

  /// The oldest of them, which is the only one unless this rank was late.
  Round<T> front() const {
    read_first();
    return {exchange(), first()};
  }

  /// Passes all of them, for a caller that wants none.
  using RoundsBase::pass;

 private:
  friend class PartialAllreduce<T>;
  Rounds(std::shared_ptr<detail::PartialExchange> exchange, std::uint64_t count)
      : RoundsBase(std::move(exchange), count) {}
};

/// Deposits of one rank that no round has taken yet.
template <typename T>
struct Carried {
  std::vector<T> sum;  ///< Each deposit times its weight.
  double weight = 0;   ///< The total of their weights.
};

/// An allreduce whose rounds start without waiting for all ranks. A round is not a step. Do not
/// wait for all ranks in another way between two exchanges (a barrier, say): one of them may be
/// waiting for a round that needs this rank.
template <typename T = float>
class PartialAllreduce : private detail::PartialAllreduceBase {
 public:
  /// Made by every rank with the same arguments; returns when all live ranks have come.
  PartialAllreduce(const World& world, std::size_t elements, const PartialOptions& options = {})
      : PartialAllreduceBase(world, elements, data_type<T>, options) {}

  /// Where this step's values are to be written: memory of the board, so that nothing is
  /// copied. The address changes from step to step; ask again after each exchange. What was
  /// deposited is the library's: between machines its memory may be used for the sum.
  T* slot() { return static_cast<T*>(writable_slot()); }
  /// For a rank that goes on using the values of its slots even if an exchange fails: from now on
  /// they stay as they are, at some cost between machines.
  using PartialAllreduceBase::keep_deposits;

  /// Deposits the slot and returns every round that this rank has not passed. If there is none yet,
  /// waits for one. The deposit counts `weight` times in the sum: 0, which adds nothing whatever
  /// the values are, or from 1e-12 to 1e12.
  Rounds<T> exchange(double weight = 1) { return rounds(exchange_slot(weight)); }
  /// The same from the caller's own buffer, with one copy.
  Rounds<T> exchange(std::span<const T> values, double weight = 1) {
    return rounds(exchange_values(values.data(), values.size(), weight));
  }

  /// Deposits and returns at once. Any number of deposits may precede a wait().
  void start(double weight = 1) { start_slot(weight); }
  void start(std::span<const T> values, double weight = 1) {
    start_values(values.data(), values.size(), weight);
  }
  /// Arrives without values: counts for the trigger and adds nothing to the sum.
  using PartialAllreduceBase::start_empty;
  /// Whether wait() would return at once. Moves a startable round forward, without sleeping.
  using PartialAllreduceBase::ready;
  /// Waits for a round that this rank has not passed, and returns all of them.
  Rounds<T> wait() { return rounds(await_rounds()); }

  /// Says that this rank has no more data: rounds are no longer waited for on its account. With
  /// several collectives, stop() all of them before finish() follows the first to its end; a rank
  /// that follows one still holds the others to their window.
  using PartialAllreduceBase::stop;
  /// Whether this rank has passed the last round of all, which follows when all ranks have stopped.
  using PartialAllreduceBase::finished;

  /// For a rank that has no more data: follows the others' rounds, handing each to `apply`,
  /// until all ranks have finished, and runs one last round that takes everything carried. If
  /// `apply` throws, finish() can be called again, and goes on with the round at which it threw.
  void finish(const std::function<void(const Round<T>&)>& apply) {
    stop();
    while (!finished()) {
      for (const auto& round : wait()) apply(round);
    }
  }

  /// Goes without looking back: the others stop counting on this rank at once. What it has
  /// deposited is still taken by the next round.
  using PartialAllreduceBase::leave;

  /// What this rank has on the board, for a checkpoint; and putting it back in another run. Right
  /// only while no rank exchanges anything, between two barriers say.
  std::optional<Carried<T>> carried() const requires(sizeof(T) >= sizeof(float)) {
    Carried<T> result{.sum = std::vector<T>(size())};
    const std::optional<double> weight = copy_carried(result.sum.data());
    if (!weight) return std::nullopt;
    result.weight = *weight;
    return result;
  }
  void restore(std::span<const T> sum, double weight) requires(sizeof(T) >= sizeof(float)) {
    restore_sum(sum.data(), sum.size(), weight);
  }

  /// The same for drops of this rank that no receipt has told of yet.
  using PartialAllreduceBase::report;
  using PartialAllreduceBase::unreported;

  /// Deposits of this rank that were dropped as too old, up to the last round seen.
  using PartialAllreduceBase::dropped;
  using PartialAllreduceBase::size;

 private:
  Rounds<T> rounds(std::uint64_t count) const { return {shared_exchange(), count}; }
};

}  // namespace syncopate

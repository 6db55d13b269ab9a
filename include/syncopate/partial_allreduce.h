// A sum over ranks that does not wait for everyone. Each rank deposits a vector on the
// board and gets back the result of every round since its last call, in order. When a round
// starts, and what becomes of late deposits, is chosen in PartialOptions.
//
// Promises: a carried deposit is in exactly one round; all ranks read bit-identical results;
// no rank skips a round; no rank waits for a dead one. docs/architecture.md says how.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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

namespace detail {
class PartialExchange;

/// Shared ownership of the exchange behind every typed handle.
std::shared_ptr<PartialExchange> make_partial(const World& world, std::size_t elements,
                                              DataType type, const PartialOptions& options);
void* writable_slot(PartialExchange&);
/// What the rank does after a deposit: wait for a round, or something else.
enum class Then : bool { go_on, wait };
void deposit(PartialExchange&, const void* values, std::size_t elements, double weight, Then then);
void deposit_slot(PartialExchange&, double weight, Then then);
void deposit_nothing(PartialExchange&, Then then);
bool round_ready(PartialExchange&);
/// Waits until a round is there that this rank has not seen; returns how many there are.
std::uint64_t await_rounds(PartialExchange&);
const void* round_values(const PartialExchange&, std::uint64_t round);
Receipt round_receipt(const PartialExchange&, std::uint64_t round);
std::uint64_t rounds_passed(const PartialExchange&);
/// The rank is done with the rounds up to this one.
void pass_through(PartialExchange&, std::uint64_t round);
/// The rank reads this one, and is done with it when it calls again or stops reading.
void read_round(PartialExchange&, std::uint64_t round);
void stop_reading(PartialExchange&, std::uint64_t round, bool used) noexcept;
void stop(PartialExchange&);
bool finished(const PartialExchange&);
void leave(PartialExchange&);
Scale scale_of(const PartialExchange&);
std::size_t elements_of(const PartialExchange&);
std::uint64_t deposits_dropped(const PartialExchange&);
std::uint64_t drops_unreported(const PartialExchange&);
void report_drops(PartialExchange&, std::uint64_t drops);
void keep_deposits(PartialExchange&);
std::optional<double> copy_carried(const PartialExchange&, void* into);
void restore(PartialExchange&, const void* sum, std::size_t elements, double weight);
[[noreturn]] void wrong_accessor(Scale scale);
}  // namespace detail

/// The result of one round. Valid while the Rounds it came from stands at it.
template <typename T>
class Round {
 public:
  std::uint64_t number() const { return number_; }

  /// The sum divided as PartialOptions::scale says; throws if the scale is none.
  std::span<const T> mean() const {
    if (detail::scale_of(*exchange_) == Scale::none) detail::wrong_accessor(Scale::none);
    return values();
  }
  /// The undivided sum; throws unless the scale is none.
  std::span<const T> sum() const {
    const Scale scale = detail::scale_of(*exchange_);
    if (scale != Scale::none) detail::wrong_accessor(scale);
    return values();
  }

  Receipt receipt() const { return detail::round_receipt(*exchange_, number_); }

  Round(const detail::PartialExchange& exchange, std::uint64_t number)
      : exchange_(&exchange), number_(number) {}

 private:
  std::span<const T> values() const {
    return {static_cast<const T*>(detail::round_values(*exchange_, number_)),
            detail::elements_of(*exchange_)};
  }

  const detail::PartialExchange* exchange_;
  std::uint64_t number_;
};

/// The rounds a call returned, oldest first. A round is *passed* when the iteration moves on from
/// it; one that was read by front(), when this object ends or with the next call. Its memory may be
/// used again then. A round that is not passed is returned again, first, by the next exchange() or
/// wait(): after a step that throws, in the loop or with front(), no round is lost, and the one it
/// stood at comes once more. So it does after a `break`. A round that was not passed counts as not
/// seen: the others wait for this rank where the window ends.
template <typename T>
class [[nodiscard]] Rounds {
 public:
  class Iterator {
   public:
    using value_type = Round<T>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    const Round<T>& operator*() const { return round_; }
    const Round<T>* operator->() const { return &round_; }
    Iterator& operator++() {
      detail::pass_through(*exchange_, round_.number());
      round_ = Round<T>(*exchange_, round_.number() + 1);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return round_.number() > last_; }

    Iterator(detail::PartialExchange& exchange, std::uint64_t first, std::uint64_t last)
        : exchange_(&exchange), round_(exchange, first), last_(last) {}

   private:
    detail::PartialExchange* exchange_;
    Round<T> round_;
    std::uint64_t last_;
  };

  /// At the oldest that is not passed.
  Iterator begin() const {
    return {*exchange_, std::max(first_, detail::rounds_passed(*exchange_) + 1), last_};
  }
  std::default_sentinel_t end() const { return {}; }
  std::size_t size() const { return last_ + 1 - first_; }

  /// The oldest of them, which is the only one unless this rank was late.
  Round<T> front() const {
    detail::read_round(*exchange_, first_);
    return {*exchange_, first_};
  }

  /// Passes all of them, for a caller that wants none.
  void pass() const { detail::pass_through(*exchange_, last_); }

  Rounds(std::shared_ptr<detail::PartialExchange> exchange, std::uint64_t count)
      : exchange_(std::move(exchange)),
        first_(detail::rounds_passed(*exchange_) + 1),
        last_(first_ + count - 1) {}
  Rounds(Rounds&&) noexcept = default;
  Rounds& operator=(Rounds&&) = delete;
  ~Rounds() {
    // A step that throws has not used the round.
    const bool used = std::uncaught_exceptions() <= exceptions_;
    if (exchange_) detail::stop_reading(*exchange_, first_, used);
  }

 private:
  std::shared_ptr<detail::PartialExchange> exchange_;
  std::uint64_t first_;
  std::uint64_t last_;
  int exceptions_ = std::uncaught_exceptions();  ///< Under way when this object was made.
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
class PartialAllreduce {
 public:
  /// Made by every rank with the same arguments; returns when all live ranks have come.
  PartialAllreduce(const World& world, std::size_t elements, const PartialOptions& options = {})
      : exchange_(detail::make_partial(world, elements, data_type<T>, options)) {}

  /// Where this step's values are to be written: memory of the board, so that nothing is
  /// copied. The address changes from step to step; ask again after each exchange. What was
  /// deposited is the library's: between machines its memory may be used for the sum.
  T* slot() { return static_cast<T*>(detail::writable_slot(*exchange_)); }
  /// For a rank that goes on using the values of its slots even if an exchange fails: from now on
  /// they stay as they are, at some cost between machines.
  void keep_deposits() { detail::keep_deposits(*exchange_); }

  /// Deposits the slot and returns every round that this rank has not passed. If there is none yet,
  /// waits for one. The deposit counts `weight` times in the sum: 0, which adds nothing whatever
  /// the values are, or from 1e-12 to 1e12.
  Rounds<T> exchange(double weight = 1) {
    detail::deposit_slot(*exchange_, weight, detail::Then::wait);
    return wait();
  }
  /// The same from the caller's own buffer, with one copy.
  Rounds<T> exchange(std::span<const T> values, double weight = 1) {
    detail::deposit(*exchange_, values.data(), values.size(), weight, detail::Then::wait);
    return wait();
  }

  /// Deposits and returns at once. Any number of deposits may precede a wait().
  void start(double weight = 1) { detail::deposit_slot(*exchange_, weight, detail::Then::go_on); }
  void start(std::span<const T> values, double weight = 1) {
    detail::deposit(*exchange_, values.data(), values.size(), weight, detail::Then::go_on);
  }
  /// Arrives without values: counts for the trigger and adds nothing to the sum.
  void start_empty() { detail::deposit_nothing(*exchange_, detail::Then::go_on); }
  /// Whether wait() would return at once. Moves a startable round forward, without sleeping.
  bool ready() { return detail::round_ready(*exchange_); }
  Rounds<T> wait() { return {exchange_, detail::await_rounds(*exchange_)}; }

  /// Says that this rank has no more data: rounds are no longer waited for on its account. With
  /// several collectives, stop() all of them before finish() follows the first to its end; a rank
  /// that follows one still holds the others to their window.
  void stop() { detail::stop(*exchange_); }

  /// For a rank that has no more data: follows the others' rounds, handing each to `apply`,
  /// until all ranks have finished, and runs one last round that takes everything carried. If
  /// `apply` throws, finish() can be called again, and goes on with the round at which it threw.
  void finish(const std::function<void(const Round<T>&)>& apply) {
    stop();
    while (!detail::finished(*exchange_)) {
      for (const auto& round : wait()) apply(round);
    }
  }

  /// Goes without looking back: the others stop counting on this rank at once. What it has
  /// deposited is still taken by the next round.
  void leave() { detail::leave(*exchange_); }

  /// What this rank has on the board, for a checkpoint; and putting it back in another run. Right
  /// only while no rank exchanges anything, between two barriers say.
  std::optional<Carried<T>> carried() const requires(sizeof(T) >= sizeof(float)) {
    Carried<T> result{.sum = std::vector<T>(size())};
    const std::optional<double> weight = detail::copy_carried(*exchange_, result.sum.data());
    if (!weight) return std::nullopt;
    result.weight = *weight;
    return result;
  }
  void restore(std::span<const T> sum, double weight) requires(sizeof(T) >= sizeof(float)) {
    detail::restore(*exchange_, sum.data(), sum.size(), weight);
  }

  /// The same for drops of this rank that no receipt has told of yet.
  std::uint64_t unreported() const { return detail::drops_unreported(*exchange_); }
  void report(std::uint64_t drops) { detail::report_drops(*exchange_, drops); }

  /// Deposits of this rank that were dropped as too old, up to the last round seen.
  std::uint64_t dropped() const { return detail::deposits_dropped(*exchange_); }
  std::size_t size() const { return detail::elements_of(*exchange_); }

 private:
  std::shared_ptr<detail::PartialExchange> exchange_;
};

}  // namespace syncopate

// What the typed handles of partial_allreduce.h have in common: all that does not depend on the
// type of the elements, compiled once in the library. Programs use the handles, never these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "syncopate/receipt.h"
#include "syncopate/types.h"
#include "syncopate/world.h"

namespace syncopate {
struct PartialOptions;
}

namespace syncopate::detail {

class PartialExchange;

class RoundBase {
 protected:
  struct Values {
    const void* data;
    std::size_t elements;
  };

  RoundBase(PartialExchange& exchange, std::uint64_t number)
      : exchange_(&exchange), number_(number) {}

  std::uint64_t number() const { return number_; }
  /// Each throws if the round has the other.
  Values mean_values() const;
  Values sum_values() const;
  Receipt receipt() const;
  /// Passes this round and goes on to the next.
  void advance();

 private:
  Values values() const;

  PartialExchange* exchange_;
  std::uint64_t number_;
};

class RoundsBase {
 public:
  RoundsBase(RoundsBase&&) noexcept = default;
  RoundsBase& operator=(RoundsBase&&) = delete;

 protected:
  /// The oldest `count` that the rank has not passed.
  RoundsBase(std::shared_ptr<PartialExchange> exchange, std::uint64_t count);
  ~RoundsBase();

  PartialExchange& exchange() const { return *exchange_; }
  std::uint64_t first() const { return first_; }
  std::uint64_t first_not_passed() const;
  std::uint64_t last() const { return last_; }
  std::size_t size() const { return last_ + 1 - first_; }
  void read_first() const;
  void pass() const;

 private:
  std::shared_ptr<PartialExchange> exchange_;
  std::uint64_t first_;
  std::uint64_t last_;
  int exceptions_ = std::uncaught_exceptions();  ///< Under way when this object was made.
};

class PartialAllreduceBase {
 protected:
  PartialAllreduceBase(const World& world, std::size_t elements, DataType type,
                       const PartialOptions& options);

  void* writable_slot();
  void start_slot(double weight);
  void start_values(const void* values, std::size_t elements, double weight);
  /// These deposit, wait until a round is there that this rank has not passed, and return how many
  /// there are.
  std::uint64_t exchange_slot(double weight);
  std::uint64_t exchange_values(const void* values, std::size_t elements, double weight);
  std::uint64_t await_rounds();
  /// Whether this rank has passed the last round of all.
  bool finished() const;
  /// Returns the weight of what is carried.
  std::optional<double> copy_carried(void* into) const;
  void restore_sum(const void* sum, std::size_t elements, double weight);

  void keep_deposits();
  void start_empty();
  bool ready();
  void stop();
  void leave();
  std::uint64_t unreported() const;
  void report(std::uint64_t drops);
  std::uint64_t dropped() const;
  std::size_t size() const;

  const std::shared_ptr<PartialExchange>& shared_exchange() const { return exchange_; }

 private:
  std::shared_ptr<PartialExchange> exchange_;
};

}  // namespace syncopate::detail

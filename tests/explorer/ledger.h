// The books of one schedule: which deposit went into which round, and whether each rank was
// told the same. Every deposit has a digit of its own in the values, so that a sum says exactly
// how often each is in it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "board/reduction.h"
#include "explorer/plan.h"
#include "syncopate/receipt.h"

namespace syncopate::testing {

class Ledger {
 public:
  void open(const Plan& plan);

  /// A deposit is about to be made, on a model that has seen the rounds up to `base`.
  int begin_deposit(int rank, std::uint64_t base, int weight);
  void end_deposit(int id, bool dropped);
  /// Writes the values of elements `from` to `to`.
  void fill(int id, void* values, std::size_t from, std::size_t to) const;

  /// A round was published. Looks at it before anybody reads it.
  void published(std::uint64_t round, const void* values, const board::ResultHeader& header,
                 std::uint64_t contributors, std::uint64_t reporters);
  /// A rank reads a round.
  void read(int rank, std::uint64_t round, const void* values, const Receipt& receipt);
  /// A rank reads a round again, before it lets go of it.
  void read_again(int rank, std::uint64_t round, const void* values);

  /// At the end. `left_over`: ranks that have something on the board; `survivors`: ranks that
  /// came to their end.
  void close(Ranks left_over, Ranks survivors);

  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }
  const std::string& failure() const { return failure_; }
  std::uint64_t rounds() const { return rounds_.size(); }
  /// Whether a rank has seen the result of `round`.
  bool knows(std::uint64_t round) const { return result(round) != nullptr; }

 private:
  static constexpr std::size_t kMostElements = 7;
  enum class State : std::uint8_t { begun, complete, dropped };
  struct Deposit {
    int rank;
    std::uint64_t base;
    int weight;
    State state = State::begun;
    int taken = 0;  ///< In how many rounds it was found.
  };
  struct Result {
    std::array<std::byte, kMostElements * 8> values{};
    std::uint64_t contributors = 0;
    std::uint64_t reporters = 0;
    std::uint64_t staleness = 0;
    std::uint64_t dropped = 0;
    double weight = 0;
    bool last = false;
  };

  int digit(int id, std::size_t element) const;
  double value(const void* values, std::size_t element) const;
  void decode(std::uint64_t round, Result& result);
  const Result* result(std::uint64_t round) const;
  std::size_t bytes() const;

  const Plan* plan_ = nullptr;
  int digits_ = 0;
  std::vector<Deposit> deposits_;
  std::vector<Result> rounds_;
  std::vector<std::uint64_t> read_;  ///< By each rank, the last round.
  std::string failure_;
};

}  // namespace syncopate::testing

// A scenario: who arrives when, what happens to whom, and what must come of it. It speaks of
// ranks, deposits and rounds only, so that every back end can play it (README.md describes the
// text form).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syncopate/error.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::testing {

/// Since the beginning, on a clock that only waiting and computing move.
using Moment = std::chrono::nanoseconds;

struct Act {
  enum class Kind : std::uint8_t {
    compute,   // takes time
    until,     // computes until a moment
    exchange,  // deposits and waits for a round
    start,     // deposits and goes on
    wait,      // waits for a round
    poll,      // asks whether a round is ready, and expects an answer
    finish,    // follows the others to the last round
    leave,     // goes
    die,       // is killed here
    stop,      // is stopped here for a time
  };
  Kind kind;
  std::chrono::nanoseconds time{0};
  std::optional<double> value;  ///< None: arrives without values.
  double weight = 1;
  bool answer = false;
  int line = 0;
};

/// What happens to a rank at a moment, wherever it is.
struct Incident {
  enum class Kind : std::uint8_t { dies, stops, continues };
  Kind kind;
  int rank;
  Moment at;
};

/// What happens to a rank before one of its steps on the board. Other back ends have other
/// steps: they skip the scenario.
struct StepFault {
  bool dies;
  int rank;
  std::string step;
  int occurrence;
  std::chrono::nanoseconds time{0};  ///< Of a stop.
};

/// Something that must be so. What is not mentioned may be any.
struct RoundExpectation {
  std::uint64_t round;
  std::optional<std::vector<int>> from;
  std::optional<double> sum;
  std::optional<std::uint64_t> staleness;
  std::optional<std::vector<int>> dropped;
  std::optional<double> weight;
  std::optional<Moment> started;
  std::optional<Moment> published;
  std::optional<bool> last;
  int line;
};
struct ReadExpectation {
  int rank;
  std::uint64_t first;
  std::uint64_t last;
  std::optional<Moment> at;
  int line;
};
struct WaitExpectation {
  int rank;
  std::uint64_t round;
  std::chrono::nanoseconds time;
  std::optional<int> waited_for;  ///< -1: none.
  int line;
};
struct FailureExpectation {
  int rank;
  std::string code;
  std::vector<int> naming;
  std::optional<Moment> at;
  int line;
};
struct KnowledgeExpectation {
  int rank;
  std::uint64_t round;
  std::vector<int> dead;
  int line;
};
struct NumberExpectation {
  enum class Of : std::uint8_t { rounds, total, drops };
  Of of;
  int rank = -1;
  double number;
  int line;
};

struct Scenario {
  /// Who goes first of ranks that could all go on.
  enum class Order : std::uint8_t {
    by_rank,     // the lowest, until it waits
    interleaved  // all in turns, step by step
  };

  int ranks = 0;
  std::size_t elements = 3;
  DataType type = DataType::float64;
  PartialOptions options{.scale = Scale::none};
  std::uint64_t begin_after = 0;
  std::chrono::nanoseconds timeout = std::chrono::minutes(1);
  Order order = Order::by_rank;

  std::vector<std::vector<Act>> scripts;
  std::vector<Incident> incidents;
  std::vector<StepFault> step_faults;

  std::vector<RoundExpectation> rounds;
  std::vector<ReadExpectation> reads;
  std::vector<WaitExpectation> waits;
  std::vector<FailureExpectation> failures;
  std::vector<KnowledgeExpectation> knowledge;
  std::vector<NumberExpectation> numbers;
  std::vector<int> lines_about_the_board;  ///< Of expectations that other back ends need not keep.

  /// Throws std::runtime_error with the line and what was not understood.
  static Scenario parse(std::string_view text);
};

}  // namespace syncopate::testing

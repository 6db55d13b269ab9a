// What the ranks of one schedule do, and what happens to them: a small world with all its
// choices, drawn from a seed or written down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "board/platform.h"
#include "explorer/random.h"
#include "support/machine.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::testing {

struct Action {
  enum class Kind : std::uint8_t {
    exchange,  // deposit and wait
    start,     // deposit and go on
    poll,      // deposit, ask twice whether a round is ready, take it if so
    wait,      // deposit, tell the others, wait
    empty,     // arrive without values and wait
  };
  Kind kind = Kind::exchange;
  Time computing = 0;   ///< Before it.
  bool copied = false;  ///< From a buffer of the caller's own, instead of in place.
  int weight = 1;
};

enum class End : std::uint8_t { finish, leave };

struct Plan {
  int ranks = 2;
  std::size_t elements = 1;
  DataType type = DataType::float64;
  PartialOptions options{.scale = Scale::none};
  std::uint64_t begin_after = 0;
  std::vector<std::vector<Action>> actions;
  std::vector<End> ends;
  std::vector<Machine::Fault> faults;
  Time tick = 0;
  int wake_early = 0;
  std::vector<Time>
      timeouts;  ///< By rank; 0: never. A rank that gives up goes on with its next act.

  static Plan draw(Random& random);

  int deposits() const;
  /// Steps of the protocol that it takes, about.
  int typical_steps() const { return 60 * ranks * deposits(); }
  bool has_empty() const;
  /// Nothing in it takes time: then no wait may end by the clock either.
  bool timeless() const;
  bool deadly() const;
  std::string describe() const;
};

}  // namespace syncopate::testing

// Turns taken deposits into one result, by as many helpers as there are, any of which may be
// stopped or die at any instruction. A result is computed chunk by chunk: a helper claims a chunk,
// makes sure that the attempt is still the current one, writes the chunk and marks it done.
//
// Invariants
// 1. A chunk is claimed by one helper. While it is claimed no other writes to it, in this round or
//    a later one; only a dead helper's chunk is taken over.
//      check: help_with (the claim still stands)          test: tests/explorer
// 2. A chunk's tag never goes back: a buffer is used for rounds that grow.
//      check: help_with                                   test: tests/explorer
// 3. A helper writes only after it has claimed the chunk and seen that the attempt is the current
//    one. So a helper that slept through everything can wake and write without harm: its round is
//    still running, or the buffer was given up and is not used until the helper lets go (in_use).
//      test: stopped-helper-second-attempt.scenario
// 4. A chunk is a pure function of frozen inputs: two helpers that write it write the same bits.
//      check: write (no more terms than ranks)            test: tests/kernel/kernel_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "board/layout.h"
#include "board/relocations.h"
#include "board/roster.h"
#include "board/shared.h"
#include "board/words.h"
#include "kernel/kernel.h"
#include "syncopate/types.h"

namespace syncopate::board {

/// What a result says about itself. Written with the first chunk, under its claim.
struct ResultHeader {
  RoundNumber round = 0;
  double weight = 0;            ///< Total weight in the sum.
  std::uint64_t staleness = 0;  ///< The largest among the contributions.
  std::uint32_t dropped = 0;    ///< Deposits that ranks report as dropped.
  std::int16_t newest = -1;     ///< The contributor that came last.
  bool last = false;
};

/// How a vector is cut into chunks.
struct Chunking {
  std::size_t elements = 0;  ///< Of the whole vector.
  std::size_t chunk = 0;     ///< Elements per chunk, except the last.
  int count = 1;

  static Chunking of(std::size_t elements, DataType type, int ranks);
};

/// A running round, as its helpers see it: frozen inputs and where the result goes.
struct ReductionInput {
  std::uint64_t tag;  ///< Grows with every use of a buffer for another round.
  int buffer;
  const Shared<std::uint64_t>* attempt;  ///< The word that names the current attempt …
  std::uint64_t attempt_value;           ///< … and what it says while this one is current.
  std::span<const Term> terms;
  double scale;
  const ResultHeader* header;
  std::span<const std::uint64_t> contributors;  ///< Rank sets as bits.
  std::span<const std::uint64_t> reporters;     ///< Ranks that report drops.
  bool front_first = false;  ///< The agent goes on with the first chunks while the others are made.
};

class Reduction {
 public:
  enum class Outcome {
    complete,  // every chunk is done: the result can be published
    pending,   // some chunks are in the hands of others
    over,      // the attempt is no longer the current one
  };

  /// `places`: where the values of buffers are that are not in their own place.
  Reduction(std::byte* memory, const Layout& start, int buffers, const Chunking& chunking,
            DataType type, const Roster& roster, Relocations relocations = {});
  /// `ranks`: those of the world, of whom a result may tell.
  static Layout extend(Layout layout, int ranks, int buffers, const Chunking& chunking,
                       DataType type);

  Outcome help(const ReductionInput& job);
  /// The same for the chunks from `begin` to `end` only, in order.
  Outcome help(const ReductionInput& job, int begin, int end);

  /// Fetches what the first chunk of `buffer` will write to.
  void prefetch(int buffer) const;
  /// Whether a helper may still write into `buffer`: it is better left alone.
  bool in_use(int buffer) const;
  /// Whether `rank` has claimed a chunk of `buffer` and not let go.
  bool holds_chunk(int buffer, int local_rank) const;

  const ResultHeader& header(int buffer) const;
  std::span<const std::uint64_t> contributors(int buffer) const;
  std::span<const std::uint64_t> reporters(int buffer) const;
  void* values(int buffer) const;
  void move_values(int buffer, const void* to) const { relocations_.move(buffer, to); }
  /// Writes what a result says of itself where no job does.
  void describe(int buffer, const ResultHeader& result, std::span<const std::uint64_t> contributing,
                std::span<const std::uint64_t> reporting) const;
  const Chunking& chunking() const { return chunking_; }

 private:
  Shared<std::uint64_t>& chunk_word(int buffer, int chunk) const;
  std::byte* head(int buffer) const;
  std::span<std::uint64_t> bits(int buffer, int set) const;
  Outcome help_with(const ReductionInput& job, int chunk) const;
  Outcome outcome_of(const ReductionInput& job, int begin, int end) const;
  void write(const ReductionInput& job, int chunk) const;

  std::byte* words_;
  std::byte* heads_;
  std::byte* values_;
  std::size_t head_bytes_;
  std::size_t value_bytes_;
  Chunking chunking_;
  DataType type_;
  const Roster& roster_;
  Relocations relocations_;
};

}  // namespace syncopate::board

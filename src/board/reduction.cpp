#include "board/reduction.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bits.h"
#include "base/check.h"
#include "board/prefetch.h"

namespace syncopate::board {
namespace {

using ChunkPhase = ChunkWord::Phase;

/// Below this one rank is faster alone than two that have to agree.
constexpr std::size_t kSmallestChunk = 8 << 10;
/// Above this a chunk of every rank would no longer be in the caches at once, and a helper
/// that is interrupted would hold up more than it must.
constexpr std::size_t kLargestChunk = 256 << 10;
/// From here on results are written around the caches: they would only push out the inputs.
constexpr std::size_t kStreamingFrom = 8 << 20;
/// A chunk word has a cache line for itself, because each is claimed by another rank.
constexpr std::size_t kWordStride = 64;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The word of the first chunk, the header and two sets of ranks: one cache line for up to 64.
std::size_t head_size(int ranks) {
  return sizeof(std::uint64_t) + sizeof(ResultHeader) +
         2 * sizeof(std::uint64_t) * bits::words_for(ranks);
}

}  // namespace

Chunking Chunking::of(std::size_t elements, DataType type, int ranks) {
  const std::size_t size = size_of(type);
  // Test builds cut small, so that vectors of a few elements already have several chunks.
  const std::size_t smallest = kStepped ? 2 * size : kSmallestChunk;
  const std::size_t share = round_up(elements * size / std::max(ranks, 1), smallest);
  const std::size_t chunk = std::clamp(share, smallest, std::max(smallest, kLargestChunk)) / size;
  const auto count = static_cast<int>(std::max<std::size_t>(1, (elements + chunk - 1) / chunk));
  return {.elements = elements, .chunk = chunk, .count = count};
}

Layout Reduction::extend(Layout layout, int ranks, int buffers, const Chunking& chunking,
                         DataType type) {
  layout.add(std::size_t(buffers) * chunking.count * kWordStride);
  for (int buffer = 0; buffer < buffers; ++buffer) layout.add(head_size(ranks));
  for (int buffer = 0; buffer < buffers; ++buffer) layout.add(chunking.elements * size_of(type));
  return layout;
}

Reduction::Reduction(std::byte* memory, const Layout& start, int buffers, const Chunking& chunking,
                     DataType type, const Roster& roster, Relocations relocations)
    : head_bytes_(round_up(head_size(roster.world_size()), Layout::kUnit)),
      value_bytes_(round_up(chunking.elements * size_of(type), Layout::kUnit)),
      chunking_(chunking),
      type_(type),
      roster_(roster),
      relocations_(relocations) {
  Layout layout = start;
  words_ = memory + layout.add(std::size_t(buffers) * chunking.count * kWordStride);
  heads_ = memory + layout.add(buffers * head_bytes_);
  values_ = memory + layout.add(buffers * value_bytes_);
}

Shared<std::uint64_t>& Reduction::chunk_word(int buffer, int chunk) const {
  if (chunk == 0) return *reinterpret_cast<Shared<std::uint64_t>*>(head(buffer));
  return *reinterpret_cast<Shared<std::uint64_t>*>(
      words_ + (std::size_t(buffer) * chunking_.count + chunk) * kWordStride);
}

std::byte* Reduction::head(int buffer) const { return heads_ + buffer * head_bytes_; }

const ResultHeader& Reduction::header(int buffer) const {
  return *reinterpret_cast<const ResultHeader*>(head(buffer) + sizeof(std::uint64_t));
}

std::span<std::uint64_t> Reduction::bits(int buffer, int set) const {
  const std::size_t words = bits::words_for(roster_.world_size());
  return {reinterpret_cast<std::uint64_t*>(head(buffer) + sizeof(std::uint64_t) +
                                           sizeof(ResultHeader)) +
              set * words,
          words};
}

std::span<const std::uint64_t> Reduction::contributors(int buffer) const { return bits(buffer, 0); }

std::span<const std::uint64_t> Reduction::reporters(int buffer) const { return bits(buffer, 1); }

void* Reduction::values(int buffer) const {
  return relocations_.find(buffer, values_ + buffer * value_bytes_);
}

void Reduction::prefetch(int buffer) const {
  prefetch_to_write(head(buffer));
  prefetch_to_write(values(buffer));
}

bool Reduction::in_use(int buffer) const {
  for (int chunk = 0; chunk < chunking_.count; ++chunk) {
    const auto word = ChunkWord::unpack(chunk_word(buffer, chunk).load());
    if (word.phase == ChunkPhase::claimed && !roster_.dead(word.rank)) return true;
  }
  return false;
}

bool Reduction::holds_chunk(int buffer, int local_rank) const {
  for (int chunk = 0; chunk < chunking_.count; ++chunk) {
    const auto word = ChunkWord::unpack(chunk_word(buffer, chunk).load());
    if (word.phase == ChunkPhase::claimed && word.rank == local_rank) return true;
  }
  return false;
}

Reduction::Outcome Reduction::help(const ReductionInput& job) {
  const int count = chunking_.count;
  // Helpers begin at different places, so that they seldom want the same chunk.
  const std::int64_t local_rank = roster_.local_rank();
  const auto first =
      static_cast<int>(job.front_first ? local_rank : local_rank * count / roster_.local_size());
  bool pending = false;
  for (int i = 0; i < count; ++i) {
    const Outcome outcome = help_with(job, (first + i) % count);
    if (outcome == Outcome::over) return outcome;
    pending = pending || outcome == Outcome::pending;
  }
  // The rank that finishes last must see that all are done, whichever chunk was pending before.
  return pending ? outcome_of(job, 0, count) : Outcome::complete;
}

Reduction::Outcome Reduction::help(const ReductionInput& job, int begin, int end) {
  bool pending = false;
  for (int chunk = begin; chunk < end; ++chunk) {
    const Outcome outcome = help_with(job, chunk);
    if (outcome == Outcome::over) return outcome;
    pending = pending || outcome == Outcome::pending;
  }
  return pending ? outcome_of(job, begin, end) : Outcome::complete;
}

Reduction::Outcome Reduction::outcome_of(const ReductionInput& job, int begin, int end) const {
  for (int chunk = begin; chunk < end; ++chunk) {
    const auto word = ChunkWord::unpack(chunk_word(job.buffer, chunk).load());
    if (word.tag > job.tag) return Outcome::over;
    if (word.tag != job.tag || word.phase != ChunkPhase::done) return Outcome::pending;
  }
  return Outcome::complete;
}

Reduction::Outcome Reduction::help_with(const ReductionInput& job, int chunk) const {
  Shared<std::uint64_t>& shared = chunk_word(job.buffer, chunk);
  std::uint64_t value = shared.load();
  for (;;) {
    const auto word = ChunkWord::unpack(value);
    if (word.tag > job.tag) return Outcome::over;
    if (word.tag == job.tag && word.phase == ChunkPhase::done) return Outcome::complete;
    if (word.phase == ChunkPhase::claimed && !roster_.dead(word.rank)) return Outcome::pending;
    step(Step::claim);
    const ChunkWord mine{
        .tag = job.tag, .phase = ChunkPhase::claimed, .rank = roster_.local_rank()};
    if (!shared.replace(value, mine.pack())) continue;
    if (job.attempt->load() != job.attempt_value) {
      // The attempt ended between our look at it and the claim: let go, unwritten.
      shared.store(ChunkWord{.tag = job.tag, .phase = ChunkPhase::idle, .rank = 0}.pack());
      return Outcome::over;
    }
    write(job, chunk);
    step(Step::done);
    // (Others may take this rank for dead although it lives, and take over.)
    SYNCOPATE_CHECK(shared.load_relaxed() == mine.pack() || !roster_.seat().may_speak(),
                    "reduction.h 1: a chunk is claimed by one");
    const std::uint64_t done =
        ChunkWord{.tag = job.tag, .phase = ChunkPhase::done, .rank = 0}.pack();
    // Sequentially consistent: of two helpers that finish at once, one must see both done.
    chunking_.count > 1 ? shared.store(done) : shared.store_release(done);
    return Outcome::complete;
  }
}

void Reduction::describe(int buffer, const ResultHeader& result,
                         std::span<const std::uint64_t> contributing,
                         std::span<const std::uint64_t> reporting) const {
  std::memcpy(head(buffer) + sizeof(std::uint64_t), &result, sizeof(ResultHeader));
  std::copy(contributing.begin(), contributing.end(), bits(buffer, 0).begin());
  std::copy(reporting.begin(), reporting.end(), bits(buffer, 1).begin());
}

void Reduction::write(const ReductionInput& job, int chunk) const {
  SYNCOPATE_CHECK(job.terms.size() <= kMaxRanks, "reduction.h 4: a term for each rank at most");
  if (chunk == 0) describe(job.buffer, *job.header, job.contributors, job.reporters);
  const std::size_t begin = chunk * chunking_.chunk;
  const std::size_t end = std::min(begin + chunking_.chunk, chunking_.elements);
  const std::size_t size = size_of(type_);
  const bool streams = chunking_.elements * size >= kStreamingFrom && !job.front_first;
  const auto reduce = [&](std::size_t from, std::size_t to) {
    std::array<Term, kMaxRanks> terms;
    for (std::size_t i = 0; i < job.terms.size(); ++i) {
      terms[i] = {.values = static_cast<const std::byte*>(job.terms[i].values) + from * size,
                  .weight = job.terms[i].weight};
    }
    weighted_sum(type_, to - from, {terms.data(), job.terms.size()}, job.scale,
                 static_cast<std::byte*>(values(job.buffer)) + from * size,
                 streams ? Store::streaming : Store::cached);
  };
  if constexpr (kStepped) {
    // A helper can be stopped in the middle of a chunk: let tests do so.
    const std::size_t middle = begin + (end - begin) / 2;
    reduce(begin, middle);
    step(Step::reduce);
    reduce(middle, end);
  } else if (begin < end) {
    reduce(begin, end);
  }
}

}  // namespace syncopate::board

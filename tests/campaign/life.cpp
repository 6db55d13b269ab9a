#include "campaign/life.h"

#include <algorithm>
#include <csignal>
#include <iterator>

#include "campaign/book.h"
#include "fabric/split.h"
#include "round/trigger.h"

namespace syncopate::campaign {
namespace {

using namespace std::chrono_literals;

/// A library whose rounds stay to be read until they are passed loses none where a step throws.
template <typename Rounds>
constexpr bool kStepsMayThrow = requires(const Rounds& rounds) {
  rounds.pass();
};

constexpr int kPercent = 100;

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

bool has_few_bits(DataType type) { return type == DataType::bfloat16 || type == DataType::float16; }

Trigger draw_trigger(Random& random, int ranks) {
  switch (random.below(5)) {
    case 0:
      return all();
    case 1:
      return majority(random.next());
    case 2:
      return count(random.between(1, ranks));
    default:
      return first();
  }
}

Grace draw_grace(Random& random) {
  switch (random.below(6)) {
    case 0:
      return automatic_grace(random.one_in(2) ? 0.15 : 0.5);
    case 1:
      return grace(std::chrono::microseconds(random.between(1, 3000)));
    default:
      return no_grace();
  }
}

LatePolicy draw_late(Random& random) {
  switch (random.below(4)) {
    case 0:
      return drop();
    case 1:
      return drop_older_than(random.between(1, 4));
    default:
      return carry();
  }
}

std::size_t draw_elements(Random& random, int ranks) {
  switch (random.below(8)) {
    case 0:
      return random.between(1, ranks);  // Not every rank can be told by the sum.
    case 1:
      return random.between(2000, 60'000);  // Several chunks.
    case 2:
      return random.between(1000, 1100);  // About where two ranks cease to settle rounds.
    default:
      return random.between(2 * ranks, 8 * ranks + 40);
  }
}

Collective draw_collective(Random& random, int ranks, bool in_company) {
  Collective result;
  constexpr DataType kTypes[] = {DataType::float64, DataType::float32,  DataType::float64,
                                 DataType::float32, DataType::bfloat16, DataType::float16};
  result.type = kTypes[random.below(std::size(kTypes))];
  result.elements = draw_elements(random, ranks);
  const int kind = in_company ? 9 : random.below(10);
  if (kind < 2) {
    result.kind = Collective::Kind::group;
    if (has_few_bits(result.type)) result.type = DataType::float32;
    result.group = {.group_size = random.one_in(3) ? 0 : random.between(1, ranks),
                    .synchronize_every = random.one_in(3) ? 0 : random.between(2, 9),
                    .rotate = !random.one_in(5),
                    .trigger = random.one_in(3) ? all() : first(),
                    .grace = draw_grace(random),
                    .late = random.one_in(2) ? LateMerge::keep : LateMerge::average,
                    .window = random.one_in(2) ? 0 : random.between(1, 9),
                    .seed = random.next()};
    // The steps until all meet again are the most that a rank may lag.
    if (result.group.synchronize_every > 0 && result.group.window > 0) {
      result.group.window = std::min(result.group.window, result.group.synchronize_every);
    }
    return result;
  }
  result.options.scale = Scale(random.below(4));
  const bool exact = !has_few_bits(result.type);
  if (!exact && result.options.scale != Scale::none) {
    result.options.scale = is_power_of_two(ranks) ? Scale::ranks : Scale::none;
  }
  if (kind < 4) {
    result.kind = Collective::Kind::allreduce;
    result.weighted = exact && random.one_in(2);
    return result;
  }
  result.options.trigger = draw_trigger(random, ranks);
  result.options.late = draw_late(random);
  result.options.grace = draw_grace(random);
  result.options.window = random.one_in(2) ? 8 : random.between(1, 12);
  result.weighted = exact && random.one_in(2);
  result.empties = random.one_in(3);
  result.keeps = random.one_in(6);
  if (in_company) {
    // Ranks must not wait for each other in two collectives at once: rounds of this one never need
    // another rank, and its window is above what ranks do while the first one keeps them together.
    result.options.trigger = first();
    result.options.window = 250;
    result.elements = std::min<std::size_t>(result.elements, 1100);
  }
  return result;
}

void draw_blows(Random& random, Life& life) {
  const int blows = random.one_in(3) ? random.between(2, 3) : 1;
  for (int i = 0; i < blows; ++i) {
    Blow blow{.rank = random.below(life.ranks),
              .signal = random.one_in(3) ? SIGSTOP : SIGKILL,
              .after_events = std::uint32_t(random.below(random.one_in(2) ? 30 : 400)),
              .delay_us = random.one_in(2) ? 0 : random.below(2000)};
    if (blow.signal == SIGSTOP) {
      constexpr int kStops[] = {1, 5, 20, 49, 60, 130, 400};
      blow.stopped_ms = kStops[random.below(std::size(kStops))];
    }
    life.blows.push_back(blow);
  }
  if (random.one_in(8)) {
    constexpr int kSignals[] = {SIGKILL, SIGKILL, SIGTERM, SIGINT};
    life.blows.push_back({.rank = -1,
                          .signal = kSignals[random.below(std::size(kSignals))],
                          .after_events = std::uint32_t(random.below(300))});
  }
}

/// What mpirun answers by ending everything comes in some lives, as do deaths that Open MPI's lets
/// the others survive. Else there are no timeouts that a machine's silence might reach.
void draw_mpi(Random& random, Life& life) {
  life.ranks = std::max(life.ranks, 2);
  constexpr const char* kSplits[] = {"1", "2", "1,2", "3", ""};
  life.split = kSplits[random.below(std::size(kSplits))];
  life.worlds = random.between(1, 2);
  life.coming.assign(life.ranks, Coming::at_once);
  life.late_ms.assign(life.ranks, 0);
  if (random.one_in(2)) {
    life.blows.push_back({.rank = random.below(life.ranks),
                          .signal = SIGSTOP,
                          .after_events = std::uint32_t(random.below(300)),
                          .stopped_ms = random.between(1, 400)});
  }
  if (!random.one_in(2)) return;
  constexpr int kTimeoutMs = 8000;  // Above what MPI takes to start where cores are busy.
  life.timeout_ms = kTimeoutMs;
  life.worlds = 1;  // MPI makes no other where a rank is dead.
  life.survive = life.launcher == Launcher::openmpi && !random.one_in(4);
  for (int deaths = random.one_in(4) ? 2 : 1; deaths > 0; --deaths) {
    life.blows.push_back({.rank = random.below(life.ranks),
                          .signal = SIGKILL,
                          .after_events = std::uint32_t(random.below(random.one_in(3) ? 400 : 60)),
                          .delay_us = random.one_in(2) ? 0 : random.below(2000)});
  }
}

}  // namespace

const char* to_string(Launcher launcher) {
  constexpr const char* kNames[] = {"run", "openmpi", "mpich"};
  return kNames[static_cast<std::size_t>(launcher)];
}

Life Life::draw(std::uint64_t seed, Launcher launcher) {
  Random random(seed);
  Life life{.seed = seed, .launcher = launcher};
  const bool alone = launcher == Launcher::run;
  life.ranks = random.one_in(4) ? 2 : random.between(1, alone ? kMostRanks : 6);
  life.segments = random.between(1, 3);
  life.coming.assign(life.ranks, Coming::at_once);
  life.late_ms.assign(life.ranks, 0);
  life.trips = random.one_in(3) && kStepsMayThrow<Rounds<float>>;
  if (!alone) {
    draw_mpi(random, life);
  } else {
    life.survive = !random.one_in(5);
    if (random.one_in(4)) life.timeout_ms = random.between(20, 600);
    if (random.one_in(2)) draw_blows(random, life);
  }
  if (random.one_in(5)) {
    const int rank = random.below(life.ranks);
    life.coming[rank] = Coming::late;
    life.late_ms[rank] = random.between(1, 400);
    if (alone && random.one_in(3)) life.coming[rank] = Coming::never;
    if (alone && life.timeout_ms > 0 && random.one_in(2)) life.coming[rank] = Coming::sits;
  }
  return life;
}

Life Life::soak(std::uint64_t seed) {
  Random random(seed);
  Life life{.seed = seed, .endless = true};
  life.ranks = random.between(4, 8);
  life.coming.assign(life.ranks, Coming::at_once);
  life.late_ms.assign(life.ranks, 0);
  return life;
}

Segment Life::segment(int number) const {
  // What is done over and over can be told from what grows.
  if (endless) number %= kDifferentSegments;
  Random random(round::mix(seed, 1000 + std::uint64_t(number)));
  Segment result;
  const int company = random.one_in(endless ? 2 : 4) ? random.between(2, kMostCollectives) : 1;
  for (int i = 0; i < company; ++i) {
    result.collectives.push_back(draw_collective(random, ranks, i > 0));
  }
  result.steps = endless ? random.between(60, 150) : random.between(1, 30);
  constexpr int kBusy[] = {0, 50, 300, 1500};
  result.busy_us = kBusy[random.below(std::size(kBusy))];
  if (random.one_in(10) && ranks > 1) result.odd_one = random.below(ranks);
  result.barrier = random.one_in(2);
  if (random.one_in(3)) {
    result.root = random.below(ranks);
    result.broadcast = random.one_in(3) ? random.between(60'000, 300'000) : random.between(1, 5000);
  }
  return result;
}

bool Life::deadly() const {
  return std::any_of(blows.begin(), blows.end(),
                     [](const Blow& blow) { return blow.signal != SIGSTOP; });
}

std::vector<int> Life::machine_of(int rank) const {
  const std::vector<int> sizes = fabric::parse_split(split);
  int first = 0, last = ranks;
  for (std::size_t machine = 0; !sizes.empty(); ++machine) {
    last = std::min(first + sizes[machine % sizes.size()], ranks);
    if (rank < last) break;
    first = last;
  }
  std::vector<int> here;
  for (int each = first; each < last; ++each) here.push_back(each);
  return here;
}

bool Life::speaks(int rank) const {
  const std::vector<int> here = machine_of(rank);
  return here.front() == rank && int(here.size()) < ranks;
}

Random chance_of(const Life& life, int segment, int rank) {
  return Random(round::mix(life.seed, std::uint64_t(segment) * kPercent + rank + 1));
}

}  // namespace syncopate::campaign

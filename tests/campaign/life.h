// A whole life of a job, all in its seed: how many ranks start and how, what they do together, who
// comes late or never, and who is struck when. Ranks and the driver draw the same life from the
// seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explorer/random.h"
#include "syncopate/syncopate.h"

namespace syncopate::campaign {

using testing::Random;

/// Who starts the ranks.
enum class Launcher : std::uint32_t { run, openmpi, mpich };
const char* to_string(Launcher launcher);

/// What a job for hours does over and over.
inline constexpr int kDifferentSegments = 8;

struct Collective {
  enum class Kind : std::uint8_t { partial, allreduce, group };
  Kind kind = Kind::partial;
  DataType type = DataType::float64;
  std::size_t elements = 1;
  PartialOptions options;
  GroupOptions group;
  bool weighted = false;
  bool empties = false;  ///< Ranks sometimes arrive without values.
  bool keeps = false;    ///< keep_deposits()

  std::string text() const;
};

/// What ranks do from one meeting of all of them to the next.
struct Segment {
  std::vector<Collective> collectives;
  int steps = 10;
  int busy_us = 0;            ///< The most that a step takes, mostly.
  int odd_one = -1;           ///< A rank that first asks for something else than the others.
  int root = -1;              ///< Of a broadcast at the end, if any.
  std::size_t broadcast = 0;  ///< Its bytes.
  bool barrier = false;

  std::string text() const;
};

enum class Coming : std::uint8_t {
  at_once,
  late,   // after `late_ms`
  never,  // ends before it has joined
  sits,   // lives on and does not join
};

struct Blow {
  int rank = 0;  ///< -1: the launcher.
  int signal = 0;
  std::uint32_t after_events = 0;  ///< Of that rank; of the launcher: milliseconds.
  int delay_us = 0;
  int stopped_ms = 0;
};

struct Life {
  std::uint64_t seed = 0;
  Launcher launcher = Launcher::run;
  int ranks = 2;
  std::string split;    ///< SYNCOPATE_SPLIT
  int timeout_ms = 0;   ///< 0: none that may be reached.
  bool survive = true;  ///< The launcher lets the others live when a rank dies.
  int segments = 1;
  int worlds = 1;
  bool trips = false;  ///< Steps throw now and then.
  std::vector<Coming> coming;
  std::vector<int> late_ms;
  std::vector<Blow> blows;

  static Life draw(std::uint64_t seed, Launcher launcher);
  /// A job for hours: many segments of several collectives, until the driver says enough.
  static Life soak(std::uint64_t seed);

  Segment segment(int number) const;
  bool endless = false;
  bool deadly() const;
  /// The ranks on the same machine as `rank`, from the first on, which speaks for it.
  std::vector<int> machine_of(int rank) const;
  /// Whether a machine is lost with this rank: there are several, and it speaks for one.
  bool speaks(int rank) const;
  std::string text() const;
};

/// What chance has for one rank in one segment.
Random chance_of(const Life& life, int segment, int rank);

}  // namespace syncopate::campaign

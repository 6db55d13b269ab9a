// What the ranks of a life write down for the judge, in memory that outlives them. A rank notes a
// deposit before it makes it and a round after it has read it, so that a rank that is killed
// between any two instructions leaves a book that can be read. One segment of a life is in it at a
// time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace syncopate::campaign {

inline constexpr int kMostRanks = 12;
inline constexpr int kMostCollectives = 3;
inline constexpr std::uint32_t kMostDeposits = 2048;
inline constexpr std::uint32_t kMostRounds = 4096;
/// Numbers of each rank in a sum: what its deposits say of themselves, and their weights.
inline constexpr int kKinds = 2;

/// What a rank is in the middle of.
enum class Call : std::uint32_t {
  none,
  join,
  make,
  compute,
  start,
  ready,
  wait,
  exchange,
  stop,
  finish,
  leave,
  publish,
  average,
  barrier,
  broadcast,
  between_segments,
  end_world,
};
const char* to_string(Call call);

/// How a rank has parted with a collective.
enum class Parting : std::uint32_t { none, finished, left };

struct Deposit {
  double weight;
  std::uint32_t base_least;  ///< Rounds that the rank had passed when it made the deposit.
  std::uint32_t base_most;   ///< … and that it had been handed.
  std::atomic<bool> made;    ///< It is on the board for sure, or was dropped.
  std::atomic<bool> dropped;
};

/// A round as a rank has read it; of a group average a step.
struct Seen {
  std::uint64_t round;
  std::uint64_t print;         ///< Of the bits of the result.
  std::uint32_t contributors;  ///< A bit per rank. Of a group: its members.
  std::uint32_t dropped;
  std::uint32_t dead;
  bool included;
  bool last;  ///< Of a group: a step of everyone.
  bool decoded;
  std::uint64_t drops;
  std::uint64_t staleness;
  double weight;
  std::int64_t at;                  ///< When it was read, by the clock that all processes share.
  double sums[kMostRanks][kKinds];  ///< Of a group: the step of each member's publication.
};

/// One rank's view of one collective.
struct Track {
  std::atomic<std::uint32_t> deposits;
  std::atomic<std::uint32_t> rounds;
  std::atomic<Parting> parting;
  std::atomic<std::uint64_t> drops;
  std::atomic<std::int64_t>
      stopped_at;             ///< When the others may have stopped counting on it; 0: not yet.
  std::atomic<bool> gave_up;  ///< After a timeout: not all that it expected came.
  Deposit deposit[kMostDeposits];
  Seen seen[kMostRounds];
};

struct RankBook {
  enum class State : std::uint32_t { absent, alive, ended };
  std::atomic<int> process;
  std::atomic<State> state;
  std::atomic<std::uint32_t> events;  ///< Counts what it does; blows are aimed by it.
  std::atomic<Call> call;
  std::atomic<std::uint32_t> collective;
  std::atomic<std::uint32_t> segments;  ///< It is through with so many.
  std::atomic<std::uint64_t> timeouts;
  std::atomic<std::uint64_t> all_rounds;  ///< Of its whole life.
  std::atomic<std::uint32_t> dead;        ///< Whom it knew to be dead at the end.
  std::atomic<bool> complained;
  std::atomic<bool> lost;  ///< It ended as a machine is lost; the complaint is what it was told.
  char complaint[2048];
  Track tracks[kMostCollectives];
};

struct Book {
  std::uint64_t seed;
  std::uint32_t kind;
  std::atomic<std::uint32_t> cleared;  ///< Segments that were judged; the next may begin.
  std::atomic<bool> enough;            ///< No further segment, once those so far are cleared.
  RankBook ranks[kMostRanks];
};

/// What the ranks say they are doing, and what the kernel says of them, for a life that hangs.
std::string who_does_what(int ranks, const Book& book);

inline std::int64_t clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The book as the driver makes it, and as ranks find it by its path.
class SharedBook {
 public:
  SharedBook();
  explicit SharedBook(const std::string& path);
  SharedBook(const SharedBook&) = delete;
  SharedBook& operator=(const SharedBook&) = delete;
  ~SharedBook();

  std::string path() const;
  Book* operator->() const { return book_; }
  Book& operator*() const { return *book_; }

 private:
  void map();

  int descriptor_ = -1;
  Book* book_ = nullptr;
};

}  // namespace syncopate::campaign

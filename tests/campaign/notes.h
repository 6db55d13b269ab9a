// What a rank notes while it lives: what it is about to do, what went wrong, and which errors it
// may meet. A complaint ends the rank, and the life has failed.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include "campaign/book.h"
#include "campaign/life.h"

namespace syncopate::campaign {

/// A promise was broken.
struct Complaint : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Thrown by a step on purpose.
struct Trip {};
/// A meeting of all ranks timed out: this rank goes.
struct GivenUp {};

class Notes {
 public:
  Notes(const Life& life, Book& book, int rank) : life_(life), book_(book), rank_(rank) {}

  const Life& life() const { return life_; }
  int rank() const { return rank_; }
  RankBook& mine() { return book_.ranks[rank_]; }
  Book& book() { return book_; }

  void begin(Call call, int collective = 0) {
    began_ = std::chrono::steady_clock::now();
    mine().collective = std::uint32_t(collective);
    mine().call = call;
    ++mine().events;
  }

  void expect(bool right, const std::string& what) const {
    if (!right) throw Complaint(what);
  }

  /// No wait is longer than the timeout, but for what a busy machine adds.
  void expect_in_time(const Error& error) const {
    constexpr auto kBusy = std::chrono::seconds(10);
    const auto waited = std::chrono::steady_clock::now() - began_;
    expect(waited < std::chrono::milliseconds(life_.timeout_ms) + kBusy,
           "long after the timeout: " + std::string(error.what()));
  }

  /// Whether an error tells of a machine that may be lost in this life; where the world is still
  /// being made, it may not be known yet who is on which.
  bool tells_of_loss(const Error& error) {
    if (life_.launcher == Launcher::run || !life_.deadly()) return false;
    return error.code() == ErrorCode::machine_lost ||
           (mine().call == Call::join &&
            (error.code() == ErrorCode::environment || error.code() == ErrorCode::timeout));
  }

  /// Calls `act`; false if it timed out, which may happen where the life has short timeouts.
  template <typename Act>
  bool in_time(Call call, int collective, const Act& act) {
    begin(call, collective);
    try {
      act();
      mine().call = Call::none;
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout || life_.timeout_ms == 0) throw;
      ++mine().timeouts;
      expect_in_time(error);
      expect(std::string(error.what()).find("rank") != std::string::npos,
             std::string("a timeout that names no rank: ") + error.what());
      mine().call = Call::none;
      return false;
    }
  }

  /// A meeting of all ranks.
  template <typename Act>
  void meet(Call call, const Act& act) {
    if (in_time(call, 0, act)) return;
    for (Track& track : mine().tracks) {
      if (track.stopped_at == 0) track.stopped_at = clock_now();
      track.gave_up = true;
    }
    throw GivenUp();
  }

  /// `act` has to be refused with `code`.
  template <typename Act>
  void refused(ErrorCode code, const char* what, const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      if (tells_of_loss(error)) throw;
      expect(error.code() == code, std::string(what) + " gave " + error.what());
      return;
    }
    throw Complaint(std::string(what) + " was not refused");
  }

 private:
  const Life& life_;
  Book& book_;
  int rank_;
  std::chrono::steady_clock::time_point began_;  ///< The call that the rank is in.
};

inline std::uint32_t bits_of(const RankSet& ranks) {
  std::uint32_t bits = 0;
  for (const int rank : ranks.list()) bits |= 1U << rank;
  return bits;
}

}  // namespace syncopate::campaign

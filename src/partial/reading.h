// How far one rank has come with the rounds: which were handed out to it, which it is done with
// (passed), and which was the last of all. A round that is not passed is handed out again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "board/words.h"

namespace syncopate::partial {

class Reading {
 public:
  using RoundNumber = board::RoundNumber;

  explicit Reading(RoundNumber seen) : delivered_(seen), passed_(seen) {}

  /// The last round handed out; during a call, the last one passed.
  RoundNumber delivered() const { return delivered_; }
  RoundNumber next() const { return delivered_ + 1; }
  RoundNumber passed() const { return passed_; }
  /// Whether the rank is done with the last round of all.
  bool finished() const { return last_ != 0 && std::max(passed_, read_) >= last_; }

  /// A call begins: what is not passed is handed out again.
  void begin() { delivered_ = passed_; }
  /// Hands out the rounds up to `round`; returns how many there are.
  std::uint64_t deliver(RoundNumber round) {
    const RoundNumber before = delivered_;
    delivered_ = std::max(round, next());
    return delivered_ - before;
  }
  void deliver_last() { last_ = delivered_; }

  void pass(RoundNumber round) { passed_ = round; }
  /// The rank reads the round, and passes it with its next call, or when it stops reading.
  void read(RoundNumber round) { read_ = std::max(read_, round); }
  bool reads(RoundNumber round) const { return read_ == round && round > passed_; }
  void stop_reading() { read_ = 0; }
  /// A round that is read and not passed; 0 if there is none.
  RoundNumber to_pass() const { return read_ > passed_ ? read_ : 0; }

 private:
  RoundNumber delivered_;
  RoundNumber passed_;
  RoundNumber read_ = 0;
  RoundNumber last_ = 0;  ///< The last round of all, once it is handed out.
};

}  // namespace syncopate::partial

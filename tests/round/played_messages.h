// Messages between machines whose agreements are real and whose clock, boards and network are
// played: each message takes a moment, and is counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "round/time.h"

namespace syncopate::round {

/// `Outgoing` is a message with the machine it goes to, `to`.
template <typename Outgoing>
class PlayedMessages {
 public:
  static constexpr Time kMoment = 20'000;  ///< That a message takes.

  explicit PlayedMessages(int machines) : again_at_(machines, kNever) {}

  Time now() const { return now_; }
  std::int64_t count() const { return count_; }
  void forget_count() { count_ = 0; }

  void send(int from, std::vector<Outgoing> messages) {
    count_ += static_cast<std::int64_t>(messages.size());
    for (Outgoing& one : messages) {
      flying_.emplace(now_ + kMoment, std::pair(from, std::move(one)));
    }
  }
  /// A machine has looked, and wants to look again then, without news.
  void note_looked(int machine, Time again_at) {
    again_at_[machine] = again_at <= now_ ? now_ + 1 : again_at;
  }
  /// A machine has news, and looks again then, if not before.
  void note_news(int machine, Time again_at) {
    again_at_[machine] = std::min(again_at_[machine], again_at);
  }
  /// Plays until `until`: `hear(from, message)` and `look(machine)` when it is time.
  template <typename Hear, typename Look>
  void run(Time until, const Hear& hear, const Look& look) {
    while (true) {
      Time next = flying_.empty() ? kNever : flying_.begin()->first;
      for (const Time at : again_at_) next = std::min(next, at);
      if (next > until) break;
      now_ = std::max(now_, next);
      while (!flying_.empty() && flying_.begin()->first <= now_) {
        const auto [from, outgoing] = flying_.begin()->second;
        flying_.erase(flying_.begin());
        hear(from, outgoing);
      }
      for (int machine = 0; machine < static_cast<int>(again_at_.size()); ++machine) {
        if (again_at_[machine] <= now_) look(machine);
      }
    }
    now_ = until;
  }

 private:
  std::vector<Time> again_at_;
  std::multimap<Time, std::pair<int, Outgoing>> flying_;
  Time now_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace syncopate::round

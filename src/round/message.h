// What the agents of two machines say to each other about a round, and where it waits to be sent.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "round/known_facts.h"
#include "round/relay.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

struct Message {
  enum class Kind : std::uint8_t {
    start,    // the round is on, says `root`: take part, and tell `span − 1` machines after you
    facts,    // about the sender, for the coordinator
    ask,      // from the coordinator: tell me your facts, now and whenever they decide something
    missing,  // `ranks` are waited for, says `root`: tell `span − 1` machines after you
  };
  Kind kind = Kind::facts;
  std::uint64_t round = 0;
  int span = 0;
  int root = -1;
  bool waited = false;  ///< With `ask`: a rank is known to wait.
  int drawn = -1;       ///< With `ask`: the rank whose deposit starts the round, if it is one's.
  RankSet ranks;        ///< With `missing`: by their numbers in the world.
  Facts facts;
};

/// Messages of one machine, in the order in which it says them.
class Outbox {
 public:
  struct Outgoing {
    int to;
    Message message;
  };

  Outbox(int machine, int machines) : machine_(machine), machines_(machines) {}

  void send(int machine, Message message) {
    messages_.push_back({.to = machine, .message = std::move(message)});
  }
  /// Along the tree, to the `end − begin` machines from the `begin`-th after this one on.
  void spread(int begin, int end, const Message& message) {
    pass_on(begin, end, [&](int distance, int span) {
      send((machine_ + distance) % machines_, message);
      messages_.back().message.span = span;
    });
  }
  std::vector<Outgoing> take() { return std::exchange(messages_, {}); }

 private:
  int machine_;
  int machines_;
  std::vector<Outgoing> messages_;
};

}  // namespace syncopate::round

// How a round is run, as one rank takes part in it. There are three ways, each a class of its own:
//   LocalRunner   ranks of one machine that wait run the round            local_runner.h
//   PairRunner    two ranks settle small rounds between themselves        pair_runner.h
//   AgentRunner   the machine's agent runs rounds with other machines     agent_runner.h
// They have the same functions, listed here once, by which exchange.h drives the one that was
// chosen when the collective was made. No call is virtual.
#pragma once

#include <concepts>
#include <string>

#include "board/event.h"
#include "partial/memory.h"
#include "partial/then.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::partial {

using detail::Then;

/// A deposit that a rank is about to make.
struct Arrival {
  int slot;          ///< What it has written to; kNoSlot: it arrives without values.
  RoundNumber next;  ///< The round that it waits for, or will.
  Then then;
};

template <typename T>
concept Runner = requires(T runner, const T& idle, const Arrival& arrival, Time& arrived_at,
                          RoundNumber next, Time now) {
  // A deposit.
  /// Before anything of it is on the board. Whether the clock may be read after the deposit.
  { runner.expect(arrival) } -> std::same_as<bool>;
  /// It is described: puts it on the board. A rank that does not wait starts a round for those who
  /// do.
  { runner.deposit(arrival, arrived_at) } -> std::same_as<void>;

  // A wait for round `next`.
  /// The others can see from now on that this rank waits, after a deposit that did not say so.
  { runner.begin_waiting() } -> std::same_as<void>;
  /// Whether the round can be read.
  { idle.has_result(next) } -> std::same_as<bool>;
  /// Whether a rank that begins to wait should look at the board at all.
  { idle.looks_at_once() } -> std::same_as<bool>;
  /// Does what can be done for the round; returns when to look again without news.
  { runner.advance(next, now) } -> std::same_as<Time>;
  /// The same for a rank that asks again and again instead of waiting.
  { runner.poll(next, now) } -> std::same_as<void>;
  /// Whether this rank has made its result without a round.
  { runner.settle(next) } -> std::same_as<bool>;
  /// What changes beside the news.
  { idle.watched(next) } -> std::same_as<board::Watched>;
  /// The deadline has passed; whether the result is there after all.
  { runner.give_up(next) } -> std::same_as<bool>;
  /// Whom the rank waits for, in words.
  { idle.blame(next) } -> std::same_as<std::string>;

  // For others.
  /// Starts a round for ranks that wait, by one that does not.
  { runner.offer(next) } -> std::same_as<void>;
};

}  // namespace syncopate::partial

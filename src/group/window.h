// How far the ranks are, and how far others may be ahead of them.
//
// Invariants
// 1. What a rank has seen only grows.
//      check: release_through                         test: WhatWasSeenIsNotTakenBack
// 2. No round of step t starts before every rank that counts has seen t − window.
//      check: Rounds::start                           test: NobodyIsMoreThanTheWindowAhead
// 3. A rank that the window holds up says so before it looks again. A rank that catches up looks
//    for that after it has said what it has seen. So one of them always notices the other.
//      by construction: Starter, release_through      test: GroupExplorer (idle)
#pragma once

#include "group/participants.h"

namespace syncopate::group {

class Window {
 public:
  Window(const Memory& memory, const Shape& shape, const Participants& participants,
         board::Platform& platform)
      : memory_(memory), shape_(shape), participants_(participants), platform_(platform) {}

  /// This rank has been through all steps up to this one. Returns whether a rank had waited for
  /// others to catch up.
  bool release_through(RoundNumber step);
  /// What every rank of the other machines has seen, as this machine's agent has heard.
  void note_elsewhere(RoundNumber seen);

  bool allows(RoundNumber step);
  /// This rank waits until others catch up.
  void set_blocked() { memory_.news->blocked.store(1); }
  /// A bound from below on what every rank has seen; and the same after a look at every rank.
  RoundNumber seen_by_all() const { return slowest_; }
  RoundNumber look_at_all();

  /// News of ranks that have caught up.
  board::Event& event() { return memory_.news->releases; }

 private:
  const Memory& memory_;
  const Shape& shape_;
  const Participants& participants_;
  board::Platform& platform_;
  RoundNumber slowest_ = 0;
};

}  // namespace syncopate::group

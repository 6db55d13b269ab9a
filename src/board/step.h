// The steps of the protocol as a test sees them: a scheduler, a fault injector or the
// interleaving explorer gets control before each. In ordinary builds a step is nothing.
#pragma once

#include <cstdint>

namespace syncopate::board {

enum class Step : std::uint8_t {
  read,     // a shared word is about to be read
  write,    // … written
  replace,  // … compared and swapped
  deposit,  // the owner is about to put its slot on the board
  merge,    // the owner adds a carried deposit to a fresh one
  start,    // the trigger holds; the round is about to be started
  decide,   // a rank's deposit is about to be taken into the round (or not)
  claim,    // a helper is about to claim a chunk
  reduce,   // a helper is in the middle of a chunk: part of it is written
  done,     // a helper has reduced a chunk and is about to say so
  publish,  // all chunks are done; the result is about to be published
  advance,  // the result is published; the round counter is about to follow
  wake,     // waiting ranks are about to be woken
  park,     // this rank is about to sleep
  release,  // this rank is done with a result
  retry,    // a helper was waited for too long; another attempt is about to start
  join,     // a rank is about to take its seat in the world
  agree,    // a rank has proposed a collective and waits for the others
};

#ifdef SYNCOPATE_STEPPED
/// Called on the stepping rank's own thread. Tests set it; null means no hook.
using StepHook = void (*)(Step);
extern StepHook step_hook;
inline thread_local bool takes_no_steps = false;
inline void step(Step at) {
  if (step_hook != nullptr && !takes_no_steps) step_hook(at);
}
/// What `look` returns, found out without a step: a check must not change what it looks at.
template <typename Look>
bool unstepped(const Look& look) {
  takes_no_steps = true;
  const bool result = look();
  takes_no_steps = false;
  return result;
}
inline constexpr bool kStepped = true;
#else
inline void step(Step) {}
template <typename Look>
bool unstepped(const Look& look) {
  return look();
}
inline constexpr bool kStepped = false;
#endif

}  // namespace syncopate::board

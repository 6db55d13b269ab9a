// How news that one machine has reach all: along a tree in which each machine tells a few others,
// each of which tells those that follow it. News from one machine cost M − 1 messages and at most
// ⌈log₂ M⌉ hops. As no machine tells more than kBranches others at once, news that all machines
// have at the same moment cost kBranches·M messages, and not M log M.
#pragma once

namespace syncopate::round {

inline constexpr int kBranches = 4;

/// A machine that knows something is to tell the `end − begin` machines from the `begin`-th after
/// it on. Calls `tell(distance, span)` for each that it tells itself: a machine so far from it,
/// which passes the news on to the `span − 1` machines after it.
template <typename Tell>
void pass_on(int begin, int end, const Tell& tell) {
  for (int branches = kBranches; begin < end; --branches) {
    const int span = (end - begin + branches - 1) / branches;
    tell(begin, span);
    begin += span;
  }
}

}  // namespace syncopate::round

// What the tests of a link share: the link and the fabric of this rank, and waits with a deadline.
// Every rank runs every test, in the same order. A rank on which something fails ends at once, and
// the launcher ends the others, who may be waiting for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/fabric.h"

namespace syncopate::testing {

/// The link that main() made. All tests use it.
fabric::Link& company();
/// The fabric of this machine; null on ranks that are not the first of theirs.
fabric::Fabric* company_fabric();

inline int machines() { return company().topology().machines(); }
inline int machine() { return company().topology().machine; }

/// Asks until it is true. Failing that in time, the test fails.
void wait_until(const std::function<bool()>& condition, const char* what);
void wait_for(fabric::Operation& operation);
std::unique_ptr<fabric::Channel> open(fabric::Fabric& fabric);

/// One message, from whomever: the machine it comes from.
int next_message(fabric::Fabric& fabric, std::vector<std::byte>& message);

/// The agent's part of a test: nothing on the ranks that have none.
#define AGENTS_ONLY(name)                           \
  fabric::Fabric* const name##_ = company_fabric(); \
  if (name##_ == nullptr) return;                   \
  fabric::Fabric& name = *name##_

}  // namespace syncopate::testing

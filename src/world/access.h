// How the library and its tests come to what stands behind a World, which a program cannot.
#pragma once

#include <memory>
#include <utility>

#include "syncopate/world.h"

namespace syncopate::detail {

struct WorldAccess {
  static const std::shared_ptr<WorldState>& state(const World& world) { return world.state_; }
  static World make(std::shared_ptr<WorldState> state) { return World(std::move(state)); }
};

}  // namespace syncopate::detail

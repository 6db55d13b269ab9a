// The first thing that ranks tell each other when they meet: which build of Syncopate each of them
// is. It stays the first and of one form in all versions, so that those that differ can say so
// before they misunderstand each other.
#pragma once

#include <string>

#include "fabric/mpi/communicator.h"

namespace syncopate::fabric::mpi {

/// All ranks of the world call this. Throws on all of them if their builds are not the same.
void expect_one_build(const Communicator& world, const std::string& build);

}  // namespace syncopate::fabric::mpi

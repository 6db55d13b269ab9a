// What one rank has to say about a scenario, as bytes that can be sent to others.
#pragma once

#include <vector>

#include "scenarios/real_player.h"

namespace syncopate::testing {

std::vector<char> pack(Part& part);
Part unpack(const std::vector<char>& bytes, int ranks);

}  // namespace syncopate::testing

// The messages of the agreement on averages of groups, as bytes. What a message may hold by itself
// is checked as it is unpacked; what it may say by now is checked by the agreement that hears it
// (round/group_agreement.h). Both throw BadMessage. A change of anything here raises
// fabric::kProtocol.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "round/group_agreement.h"

namespace syncopate::group {

std::vector<std::byte> pack(const round::GroupMessage& message);
round::GroupMessage unpack_group_message(std::span<const std::byte> bytes, int from);

}  // namespace syncopate::group

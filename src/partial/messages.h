// The messages of the agreement on a round of a partial allreduce, as bytes. What a message may
// hold by itself is checked as it is unpacked; what it may say by now is checked by the agreement
// that hears it (round/agreement.h). Both throw BadMessage. A change of anything here raises
// fabric::kProtocol.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "round/agreement.h"

namespace syncopate::detail {

/// Of machine `from`.
std::vector<std::byte> pack(const round::Message& message, const round::Machines& machines,
                            int from);
round::Message unpack_message(std::span<const std::byte> bytes, int from,
                              const round::Machines& machines);

}  // namespace syncopate::detail

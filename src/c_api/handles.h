// What stands behind the handles of the C API that several of its parts need.
#pragma once

#include "syncopate.h"
#include "syncopate/receipt.h"
#include "syncopate/types.h"
#include "syncopate/world.h"

struct syncopate_world {
  syncopate::World world;
};

namespace syncopate::c_api {

inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
inline Duration from_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// Throws Error(invalid_argument) for what is none.
DataType type_of(syncopate_type type);
Scale scale_of(syncopate_scale scale);

/// A byte for each of `ranks`: 1 if it is in the set.
void write_bytes(const RankSet& set, int ranks, std::uint8_t* bytes);

syncopate_receipt to_c(const Receipt& receipt);

}  // namespace syncopate::c_api

// A pipe that no rank keeps by accident.
#pragma once

#include "base/descriptor.h"

namespace syncopate::launch {

using base::Descriptor;

/// Both ends are closed on exec: a rank keeps only what it was given on purpose.
struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// Throws std::system_error when no descriptor is left.
Pipe make_pipe();

}  // namespace syncopate::launch

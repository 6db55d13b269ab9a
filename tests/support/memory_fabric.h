// A fabric between machines that are threads of one process: a post box for each pair, and tables
// on which the machines of a channel put what they bring to an operation.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agent/driver.h"
#include "board/platform.h"
#include "fabric/fabric.h"
#include "syncopate/world.h"

namespace syncopate::testing {

/// The fabrics of `machines` machines that meet.
std::vector<std::unique_ptr<fabric::Fabric>> memory_fabrics(int machines);

using MakePlatform = std::function<std::unique_ptr<board::Platform>()>;

/// Worlds: element r is for rank r. `sizes` says how many ranks each machine has; ranks are
/// dealt to the machines in turn if `dealt`, as some launchers do. Machine m has element m of
/// `fabrics`, which meet. Every rank has a platform of its own.
std::vector<World> machines_of_ranks(const std::vector<int>& sizes, bool dealt,
                                     std::vector<std::unique_ptr<fabric::Fabric>> fabrics,
                                     const MakePlatform& make_platform,
                                     const agent::MakeAgentDriver& make_driver);

/// The same for threads. Every agent has a thread and a platform of its own, too.
std::vector<World> machines_of_threads(
    const std::vector<int>& sizes, bool dealt, std::vector<std::unique_ptr<fabric::Fabric>> fabrics,
    const MakePlatform& make_platform = board::make_thread_platform);

}  // namespace syncopate::testing

// The machine a figure was measured on, and how fast it copies memory.
#pragma once

#include <string>

namespace syncopate::cli {

/// Cores this process may use: those it may run on, and no more than a container's quota allows.
int usable_cores();
/// "2,3": the cores that this process may use, if these are not all of the machine; else empty.
std::string restricted_cores();

/// "AMD EPYC, 2 cores, 23 GiB, Linux 6.1.0"
std::string machine_description();

/// Bytes read and written per second, in GB/s, when `threads` threads copy between large buffers
/// of their own at the same time: the speed limit for whatever moves memory. The best of several
/// passes, since noise only slows.
double copy_bandwidth(int threads);

}  // namespace syncopate::cli

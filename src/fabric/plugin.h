// How this process gets to the fabric of the world it was started in: finds the plug-in for the MPI
// at hand and loads it. libsyncopate itself links no MPI.
//
// A plug-in is a shared object, syncopate_openmpi.so or syncopate_mpich.so, with one function:
//   extern "C" syncopate::fabric::Link* syncopate_fabric_link(int version, std::int64_t timeout,
//                                                             const char* build);
// It returns null if it is of another version of this interface. The timeout, in nanoseconds, is
// for the waits of the link. The build is compared with those of the other ranks. Link and plug-in
// throw std::runtime_error whose text is what happened and, on a second line, what to do. A plug-in
// links no libsyncopate.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "fabric/fabric.h"
#include "fabric/job_environment.h"
#include "syncopate/error.h"

namespace syncopate::fabric {

/// To be raised with every change of fabric.h or of the function below.
inline constexpr int kPluginVersion = 6;
/// To be raised with every change of what machines send each other: messages, lines that are
/// gathered, and the order of both.
inline constexpr int kProtocol = 8;
inline constexpr const char* kPluginFunction = "syncopate_fabric_link";
using PluginFunction = Link* (*)(int version, std::int64_t timeout, const char* build);

/// "0.1.0 (protocol 6)": what all ranks of a job have to have in common.
std::string own_build();

/// "openmpi", "mpich", "tcp", or "none" to ignore the launcher. For when the choice is wrong.
inline constexpr const char* kFabricVariable = "SYNCOPATE_FABRIC";
/// A folder where plug-ins are looked for first.
inline constexpr const char* kPluginsVariable = "SYNCOPATE_PLUGINS";

enum class Mpi : std::uint8_t { open_mpi, mpich };
/// The one that SYNCOPATE_FABRIC names, if any; throws Error if it makes no sense.
std::optional<Mpi> mpi_from_environment();
/// Whether SYNCOPATE_FABRIC names TCP.
bool tcp_from_environment();

/// Takes part in the world that the launcher started: all of its ranks call this. The MPI is the
/// one that SYNCOPATE_FABRIC names, or that the program itself has loaded, or the launcher's own.
/// Under torchrun there is none: the ranks of one machine meet there (local_link.h), those of
/// several over TCP (tcp/link.h), and so do all where SYNCOPATE_FABRIC says tcp.
/// Throws `environment`: if there is no plug-in for it, if MPI cannot be started, or if MPI does
/// not see as many ranks as the launcher started, or if another rank is of another build than this
/// one, which is `build`.
std::unique_ptr<Link> connect(const JobEnvironment& launcher,
                              const std::string& build = own_build());

/// What a link has thrown, for the program.
Error as_error(const std::exception& exception);

}  // namespace syncopate::fabric

#include "fabric/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/version.h"
#include "board/launcher_board.h"
#include "fabric/local_link.h"
#include "fabric/own_code.h"
#include "fabric/plugin_folders.h"
#include "fabric/split.h"
#include "fabric/tcp/link.h"
#include "syncopate/error.h"

namespace syncopate::fabric {
namespace {

const char* title(Mpi mpi) { return mpi == Mpi::open_mpi ? "Open MPI" : "MPICH"; }
const char* short_name(Mpi mpi) { return mpi == Mpi::open_mpi ? "openmpi" : "mpich"; }
const char* package(Mpi mpi) { return mpi == Mpi::open_mpi ? "libopenmpi-dev" : "libmpich-dev"; }
const char* launch_command(Mpi mpi) {
  return mpi == Mpi::open_mpi ? "mpirun.openmpi" : "mpirun.mpich";
}
std::string file_name(Mpi mpi) { return std::string("syncopate_") + short_name(mpi) + ".so"; }

/// The MPI whose functions everything in this process would call.
std::optional<Mpi> loaded() {
  using Version = int (*)(char*, int*);
  auto* version = reinterpret_cast<Version>(dlsym(RTLD_DEFAULT, "MPI_Get_library_version"));
  if (version == nullptr) return std::nullopt;
  std::string text(16 << 10, '\0');  // Above MPI_MAX_LIBRARY_VERSION_STRING of all of them.
  int length = 0;
  if (version(text.data(), &length) != 0) return std::nullopt;
  text.resize(length);
  if (text.find("Open MPI") != std::string::npos) return Mpi::open_mpi;
  // These share MPICH's binary interface.
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI"}) {
    if (text.find(name) != std::string::npos) return Mpi::mpich;
  }
  throw Error(ErrorCode::environment,
              "the program has loaded an MPI that Syncopate has no plug-in for: " + text,
              "Link the program with Open MPI or MPICH");
}

Mpi of_launcher(const JobEnvironment& launcher) {
  switch (launcher.kind) {
    case JobEnvironment::Kind::open_mpi:
    case JobEnvironment::Kind::slurm_pmix:
      return Mpi::open_mpi;
    case JobEnvironment::Kind::hydra:
    case JobEnvironment::Kind::slurm_pmi:
      return Mpi::mpich;
    case JobEnvironment::Kind::torchrun:
      break;
  }
  return Mpi::open_mpi;  // Where MPI is asked for, and not which.
}

Mpi choose(const JobEnvironment& launcher) {
  const std::optional<Mpi> asked = mpi_from_environment(), here = loaded();
  if (asked && here && *asked != *here) {
    throw Error(ErrorCode::environment,
                std::string(kFabricVariable) + " is " + short_name(*asked) +
                    " and the program has already loaded " + title(*here),
                "Two MPIs cannot live in one process: unset " + std::string(kFabricVariable));
  }
  if (asked) return *asked;
  return here ? *here : of_launcher(launcher);
}

struct Folder {
  std::filesystem::path path;
  Chosen chosen = Chosen::by_us;
};

std::vector<Folder> plugin_folders() {
  std::vector<Folder> folders;
  const auto add = [&](const std::filesystem::path& path, Chosen chosen = Chosen::by_us) {
    const std::filesystem::path plain = path.lexically_normal();
    for (const Folder& other : folders) {
      if (other.path == plain) return;
    }
    folders.push_back({plain, chosen});
  };
  if (const auto named = code_folder_from_environment(kPluginsVariable)) {
    add(*named, Chosen::by_the_user);
  }
  for (const auto& file : own_files()) {
    const std::filesystem::path own = file.parent_path();
    for (const char* below : {"", "syncopate/", "../lib/syncopate/"}) add(own / below);
    add(own / kInstalledFromBin / "");
  }
  if (const std::filesystem::path installed(kInstalled); installed.is_absolute()) {
    add(installed / "");
  }
  return folders;
}

std::filesystem::path find(Mpi mpi) {
  std::string looked_at;
  for (const auto& [folder, chosen] : plugin_folders()) {
    std::error_code ignored;
    const std::filesystem::path file = folder / file_name(mpi);
    if (std::filesystem::exists(file, ignored)) {
      refuse_unless_safe("plug-in", file, chosen, kPluginsVariable);
      return file;
    }
    looked_at += (looked_at.empty() ? "" : ", ") + folder.string();
  }
  throw Error(ErrorCode::environment,
              "the plug-in for " + std::string(title(mpi)) + ", " + file_name(mpi) +
                  ", is not in any of " + looked_at,
              "Name the folder that has it in " + std::string(kPluginsVariable) +
                  ": lib/syncopate below where Syncopate was installed or built. If it is not " +
                  "there, install " + package(mpi) + " and build Syncopate again");
}

PluginFunction load(Mpi mpi, const std::filesystem::path& path) {
  // Open MPI loads components that expect to see its symbols. A plug-in stays: MPI has registered
  // functions with the process.
  const int scope = mpi == Mpi::open_mpi ? RTLD_GLOBAL : RTLD_LOCAL;
  void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_NODELETE | scope);
  if (plugin == nullptr) {
    throw Error(ErrorCode::environment,
                "the plug-in " + path.string() + " cannot be loaded: " + dlerror(),
                "Install " + std::string(package(mpi)) + ", or build Syncopate again with the " +
                    title(mpi) + " that is installed");
  }
  return reinterpret_cast<PluginFunction>(dlsym(plugin, kPluginFunction));
}

/// A machine alone needs no rendezvous, nor a network.
std::unique_ptr<Link> connect_without_mpi(const JobEnvironment& launcher,
                                          const std::string& build) {
  const bool one_machine = launcher.ranks_here == launcher.ranks && !tcp_from_environment() &&
                           std::getenv(kSplitVariable) == nullptr;
  if (one_machine) return make_local_link(launcher);
  try {
    return tcp::make_link(launcher, build);
  } catch (const std::exception& exception) {
    throw as_error(exception);
  }
}

}  // namespace

bool tcp_from_environment() {
  const char* text = std::getenv(kFabricVariable);
  return text != nullptr && std::string_view(text) == "tcp";
}

std::optional<Mpi> mpi_from_environment() {
  const char* text = std::getenv(kFabricVariable);
  const std::string_view value = text == nullptr ? "" : text;
  if (value.empty() || value == "none" || value == "tcp") return std::nullopt;
  for (const Mpi mpi : {Mpi::open_mpi, Mpi::mpich}) {
    if (value == short_name(mpi)) return mpi;
  }
  throw Error(ErrorCode::environment, std::string(kFabricVariable) + " is \"" + text + "\"",
              "Set it to openmpi, mpich, tcp or none, or unset it");
}

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  const std::string text = exception.what();
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string happened = text.substr(0, end),
                    to_do = text.substr(std::min(end + 1, text.size()));
  return {ErrorCode::environment,
          happened.empty() ? "the fabric failed and did not say why" : happened,
          to_do.empty() ? "See whether a small program of the same MPI runs under the same launcher"
                        : to_do};
}

std::string own_build() {
  return std::string(base::kBuild) + " (protocol " + std::to_string(kProtocol) + ")";
}

std::unique_ptr<Link> connect(const JobEnvironment& launcher, const std::string& build) {
  const bool without_mpi =
      launcher.kind == JobEnvironment::Kind::torchrun && !mpi_from_environment();
  if (without_mpi || tcp_from_environment()) return connect_without_mpi(launcher, build);
  const Mpi mpi = choose(launcher);
  const std::filesystem::path path = find(mpi);
  const PluginFunction make = load(mpi, path);
  std::unique_ptr<Link> link;
  try {
    if (make != nullptr) {
      link.reset(make(kPluginVersion, board::timeout_from_environment().count(), build.c_str()));
    }
  } catch (const std::exception& exception) {
    throw as_error(exception);
  }
  if (link == nullptr) {
    throw Error(ErrorCode::environment,
                "the plug-in " + path.string() + " is of another version of Syncopate",
                "Build and install the library and its plug-ins together");
  }
  if (link->topology().ranks() != launcher.ranks) {
    const bool chosen = std::getenv(kFabricVariable) != nullptr;
    throw Error(ErrorCode::environment,
                std::string(to_string(launcher.kind)) + " started " +
                    std::to_string(launcher.ranks) + " ranks and " + title(mpi) + " sees " +
                    std::to_string(link->topology().ranks()),
                "Start the program with the launcher of the MPI it uses (" +
                    std::string(launch_command(mpi)) + " for " + title(mpi) + ")" +
                    (chosen ? std::string(", or unset ") + kFabricVariable
                            : ", and without variables of another job"));
  }
  return link;
}

}  // namespace syncopate::fabric

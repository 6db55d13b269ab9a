// Where the peers are, and how each is run so that it shows its best.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "bench/suite/side.h"
#include "bench/suite/sizes.h"
#include "cli/console/arguments.h"
#include "cli/console/machine.h"
#include "cli/console/phrases.h"
#include "fabric/own_code.h"
#include "fabric/plugin.h"
#include "fabric/tcp/sockets.h"
#include "fabric/tcp/store.h"

namespace syncopate::cli::bench {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPeersVariable = "SYNCOPATE_PEERS";

/// The drivers lie in peers/ beside this program or in libexec/syncopate/, or where SYNCOPATE_PEERS
/// says.
fs::path driver(const std::string& name) {
  if (const auto folder = fabric::code_folder_from_environment(kPeersVariable)) {
    return *folder / name;
  }
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path installed = (here / SYNCOPATE_PEERS_FOLDER).lexically_normal() / name;
  return fs::exists(installed, ignored) ? installed : here / "peers" / name;
}

/// Whether a driver is there. Throws Error if it is, and others can change it.
bool usable(const fs::path& program, int rights) {
  if (access(program.c_str(), rights) != 0) return false;
  const bool named = fabric::code_folder_from_environment(kPeersVariable).has_value();
  fabric::refuse_unless_safe(
      "peer", program, named ? fabric::Chosen::by_the_user : fabric::Chosen::by_us, kPeersVariable);
  return true;
}

std::optional<std::string> find_in_path(const std::string& name) {
  const auto found = fabric::find_in_path(name);
  return found ? std::optional(found->string()) : std::nullopt;
}

/// Whether this Python has PyTorch, and not just a folder of that name in the working directory,
/// where `python -c` would look first.
bool has_torch(const std::string& python) {
  const char* const check =
      "import sys; sys.path = [p for p in sys.path if p]; import torch.distributed";
  std::vector<char*> arguments;
  const std::array words{python.c_str(), "-c", check};
  for (const char* word : words) arguments.push_back(const_cast<char*>(word));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t silence;
  posix_spawn_file_actions_init(&silence);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&silence, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t child = -1;
  const int error =
      posix_spawn(&child, python.c_str(), &silence, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&silence);
  int status = 0;
  return error == 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// The first Python that has PyTorch; the one in PATH need not be the system's.
std::optional<std::string> python_with_torch() {
  for (const auto& python :
       {find_in_path("python3"), std::optional<std::string>("/usr/bin/python3")}) {
    if (python && has_torch(*python)) return python;
  }
  return std::nullopt;
}

/// How Open MPI starts ranks; the program is still to be added.
std::optional<Side> started_by_openmpi(int ranks) {
  const auto mpirun = find_in_path("mpirun.openmpi");
  if (!mpirun) return std::nullopt;
  Side side{.name = "openmpi", .command = {*mpirun, "-n", std::to_string(ranks)}};
  side.note = "mpirun.openmpi with its defaults";
  // It binds ranks to the first cores of the machine, whichever this process may use.
  if (const std::string cores = restricted_cores(); !cores.empty()) {
    side.command.insert(side.command.end(), {"--cpu-set", cores});
    side.note = "mpirun.openmpi --cpu-set " + cores;
  }
  if (ranks > usable_cores()) {
    side.command.emplace_back("--oversubscribe");
    side.note += " --oversubscribe";
  }
  if (geteuid() == 0) {
    side.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  }
  return side;
}

std::optional<Side> started_by_mpich(int ranks) {
  const auto mpirun = find_in_path("mpirun.mpich");
  if (!mpirun) return std::nullopt;
  Side side{.name = "mpich", .command = {*mpirun, "-n", std::to_string(ranks)}};
  side.note = "mpirun.mpich with its defaults";
  if (ranks > usable_cores()) {
    // The only such setting it has. The ch4:ucx device of Debian's package does not heed it.
    side.environment = {{"MPIR_CVAR_POLLS_BEFORE_YIELD", "1"}};
    side.note = "mpirun.mpich, MPIR_CVAR_POLLS_BEFORE_YIELD=1 (it yields if its device heeds that)";
  }
  return side;
}

std::optional<Side> with_driver(std::optional<Side> side, const std::string& name) {
  const fs::path program = driver(name);
  if (!side || !usable(program, X_OK)) return std::nullopt;
  side->command.push_back(program.string());
  return side;
}

std::optional<Side> openmpi(int ranks) {
  auto side = with_driver(started_by_openmpi(ranks), "peer_openmpi");
  if (!side || ranks <= usable_cores()) return side;
  // Or ranks that wait would burn the cores of those that work; mpirun does not know of all limits.
  side->environment.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  side->note += ", OMPI_MCA_mpi_yield_when_idle=1 (it yields)";
  return side;
}
/// As over a network, though the ranks share a host.
std::optional<Side> openmpi_tcp(int ranks) {
  auto side = openmpi(ranks);
  if (!side) return side;
  side->name = "openmpi-tcp";
  side->note += " --mca pml ob1 --mca btl tcp,self";
  side->command.insert(side->command.begin() + 1,
                       {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"});
  return side;
}
std::optional<Side> mpich(int ranks) { return with_driver(started_by_mpich(ranks), "peer_mpich"); }

std::optional<Side> gloo(int ranks) {
  if (const fs::path program = driver("peer_gloo"); usable(program, X_OK)) {
    return Side{.name = "gloo",
                .note = "TCP on the loopback device, ring allreduce",
                .command = {program.string(), std::to_string(ranks)}};
  }
  const fs::path script = driver("gloo_torch.py");
  const auto python = usable(script, R_OK) ? python_with_torch() : std::nullopt;
  if (!python) return std::nullopt;
  return Side{.name = "gloo",
              .note = "through PyTorch, TCP on the loopback device",
              .command = {*python, script.string(), std::to_string(ranks)}};
}

struct Known {
  std::string name;
  std::optional<Side> (*find)(int ranks);
  std::string packages;
  bool in_all = true;  ///< Whether "all" means it, too.
};

const std::vector<Known>& known_peers() {
  static const std::vector<Known> known = {
      {"openmpi", openmpi, "openmpi-bin and libopenmpi-dev"},
      {"openmpi-tcp", openmpi_tcp, "openmpi-bin and libopenmpi-dev", false},
      {"mpich", mpich, "mpich and libmpich-dev"},
      {"gloo", gloo, "libgloo-dev (or python3-torch)"},
  };
  return known;
}

}  // namespace

const std::vector<std::string>& peer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Known& known : known_peers()) {
      if (known.in_all) all.push_back(known.name);
    }
    return all;
  }();
  return names;
}

std::string named_fabric(const std::string& typed) {
  if (typed != "mpi") return typed;
  return find_in_path("mpirun.openmpi") || !find_in_path("mpirun.mpich") ? "openmpi" : "mpich";
}

namespace {

/// Ranks that our own launcher starts get the variables that torchrun would set.
Side our_side_over_tcp(int ranks, const std::string& command) {
  Side side = our_side(ranks, command);
  std::vector<std::string> whole = {
      "/bin/sh", "-c",
      "export RANK=$SYNCOPATE_RANK LOCAL_RANK=$SYNCOPATE_RANK WORLD_SIZE=$SYNCOPATE_RANKS "
      "LOCAL_WORLD_SIZE=$SYNCOPATE_RANKS; unset SYNCOPATE_RANK SYNCOPATE_RANKS SYNCOPATE_BOARD; "
      "exec \"$@\"",
      "sh"};
  whole.insert(whole.end(), side.command.begin(), side.command.end());
  side.command = std::move(whole);
  // One that was free a moment ago.
  const base::Descriptor listener = fabric::tcp::listen_at({htonl(INADDR_LOOPBACK), 0});
  const auto port = ntohs(fabric::tcp::address_of(listener.number()).port);
  side.environment = {{fabric::kFabricVariable, "tcp"},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {fabric::tcp::kPortVariable, std::to_string(port)}};
  side.note = "TCP";
  return side;
}

}  // namespace

Side our_side_across(int ranks, const std::string& command, const std::string& fabric,
                     int ranks_each) {
  const auto boards = [&](const std::string& between) {
    return fmt::format("boards of {}{}, {} between them", ranks % ranks_each > 0 ? "up to " : "",
                       counted(ranks_each, "rank"), between);
  };
  const std::pair<std::string, std::string> split{"SYNCOPATE_SPLIT", std::to_string(ranks_each)};
  if (fabric == "tcp") {
    Side side = our_side_over_tcp(ranks, command);
    side.note = boards(side.note);
    side.environment.push_back(split);
    return side;
  }
  if (fabric != "openmpi" && fabric != "mpich") {
    throw UsageError(fmt::format("--fabric must be openmpi, mpich, mpi or tcp, not '{}'", fabric));
  }
  const auto started = fabric == "openmpi" ? started_by_openmpi(ranks) : started_by_mpich(ranks);
  if (!started) throw UsageError(fmt::format("--fabric {0}: there is no mpirun.{0}", fabric));
  Side side = our_side(1, command);
  side.note = boards(started->note);
  // What this program's own launcher sets for mpirun is not meant for the ranks, and the option
  // says which MPI.
  std::vector<std::string> whole = {"/usr/bin/env"};
  for (const char* variable :
       {"SYNCOPATE_RANK", "SYNCOPATE_RANKS", "SYNCOPATE_BOARD", fabric::kFabricVariable}) {
    whole.insert(whole.end(), {"-u", variable});
  }
  whole.insert(whole.end(), started->command.begin(), started->command.end());
  whole.insert(whole.end(), side.command.begin(), side.command.end());
  side.command = std::move(whole);
  side.environment = started->environment;
  side.environment.push_back(split);
  return side;
}

Peers find_peers(const std::string& list, int ranks, bool also_unbound) {
  if (list == "none") return {};
  std::vector<std::string> names;
  for (const std::string& name : list == "all" ? peer_names() : split_list(list)) {
    if (name != "mpi") {
      names.push_back(name);
      continue;
    }
    names.push_back(named_fabric(name));
    if (names.back() == "openmpi" && mpich(ranks)) names.emplace_back("mpich");
  }
  Peers peers;
  for (const std::string& name : names) {
    const auto known = std::find_if(known_peers().begin(), known_peers().end(),
                                    [&](const Known& each) { return each.name == name; });
    if (known == known_peers().end()) {
      throw UsageError(fmt::format(
          "--against must be 'all', 'none' or a list of {}, openmpi-tcp and mpi, not '{}'",
          fmt::join(peer_names(), ", "), name));
    }
    if (auto side = known->find(ranks)) {
      peers.found.push_back(*side);
      // (MPICH does not bind by default.)
      if (also_unbound && name == "openmpi") {
        side->name = "openmpi-unbound";
        side->note += " --bind-to none";
        side->command.insert(side->command.begin() + 1, {"--bind-to", "none"});
        peers.found.push_back(std::move(*side));
      }
    } else {
      peers.missing.push_back(
          fmt::format("{} is not there: its driver {} was not built. Install {} and build again.",
                      name, driver("peer_" + name).string(), known->packages));
    }
  }
  return peers;
}

}  // namespace syncopate::cli::bench

#include "fabric/mpi/machines.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

#include "fabric/addresses.h"
#include "fabric/split.h"

namespace syncopate::fabric::mpi {
namespace {

constexpr int kLongestSplit = 1024;
/// The name of a host or its addresses; and sums of it fit.
constexpr int kLongestText = 4096;

/// The value that rank 0 sees: a launcher need not pass the variable on to other hosts.
std::string split_text(const Communicator& world) {
  std::string text;
  if (const char* value = std::getenv(kSplitVariable); value != nullptr) text = value;
  text.resize(kLongestSplit);
  check(MPI_Bcast(text.data(), kLongestSplit, MPI_CHAR, 0, world.handle()), "MPI_Bcast");
  text.resize(text.find('\0') == std::string::npos ? kLongestSplit : text.find('\0'));
  return text;
}

std::string processor_name() {
  std::string name(MPI_MAX_PROCESSOR_NAME, '\0');
  int length = 0;
  check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  name.resize(length);
  return name;
}

/// The addresses of this host, as bytes.
std::string networks() {
  const std::vector<in_addr_t> addresses = addresses_of_host();
  return {reinterpret_cast<const char*>(addresses.data()), addresses.size() * sizeof(in_addr_t)};
}

std::vector<std::uint32_t> networks_in(const std::string& bytes) {
  std::vector<std::uint32_t> result(std::min(bytes.size() / sizeof(in_addr_t), kMostAddresses));
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(in_addr_t));
  return result;
}

/// Of every rank, the value it gives.
std::vector<int> gather(int value, const Communicator& world) {
  std::vector<int> all(world.size());
  check(MPI_Allgather(&value, 1, MPI_INT, all.data(), 1, MPI_INT, world.handle()), "MPI_Allgather");
  return all;
}

/// Of every rank, the text it gives.
std::vector<std::string> gather(const std::string& text, const Communicator& world) {
  const std::vector<int> lengths = gather(static_cast<int>(text.size()), world);
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    if (lengths[rank] >= 0 && lengths[rank] <= kLongestText) continue;
    fail("rank " + std::to_string(rank) + " has a text of " + std::to_string(lengths[rank]) +
             " bytes for the others",
         "Install the same build of Syncopate on every machine");
  }
  std::vector<int> begins(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
  std::string all(begins.back() + lengths.back(), '\0');
  check(MPI_Allgatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, all.data(),
                       lengths.data(), begins.data(), MPI_CHAR, world.handle()),
        "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    texts.push_back(all.substr(begins[i], lengths[i]));
  }
  return texts;
}

Communicator host_of(const Communicator& world) {
  MPI_Comm host = MPI_COMM_NULL;
  check(
      MPI_Comm_split_type(world.handle(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &host),
      "MPI_Comm_split_type");
  return Communicator(host);
}

}  // namespace

Machines find_machines(const Communicator& world) {
  const std::vector<int> sizes = parse_split(split_text(world));
  Communicator machine = host_of(world);
  std::string address = processor_name();
  if (!sizes.empty()) {
    const int part = part_of(machine.rank(), sizes);
    machine = machine.split(part);
    address.append("#").append(std::to_string(part + 1));
  }

  // A machine is known by its smallest rank, and machines are numbered in the order of these.
  int first = world.rank();
  check(MPI_Bcast(&first, 1, MPI_INT, 0, machine.handle()), "MPI_Bcast");
  const std::vector<int> first_of = gather(first, world);
  const std::vector<std::string> address_of = gather(address, world);
  const std::vector<std::string> networks_of = gather(networks(), world);
  std::vector<int> firsts = first_of;
  std::sort(firsts.begin(), firsts.end());
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());

  Topology topology;
  topology.rank = world.rank();
  for (const int theirs : first_of) {
    const auto found = std::lower_bound(firsts.begin(), firsts.end(), theirs);
    topology.machine_of.push_back(static_cast<int>(found - firsts.begin()));
  }
  topology.machine = topology.machine_of[topology.rank];
  for (const int rank : firsts) {
    topology.addresses.push_back(address_of[rank]);
    topology.networks.push_back(networks_in(networks_of[rank]));
  }
  const bool is_first = first == topology.rank;
  return {std::move(topology), std::move(machine), world.split(is_first ? 0 : MPI_UNDEFINED)};
}

}  // namespace syncopate::fabric::mpi

#include "fabric/doorbell.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "board/platform.h"
#include "fabric/host.h"
#include "fabric/packet.h"
#include "syncopate/error.h"

namespace syncopate::fabric {
namespace {

/// Already taken: the machine was told.
constexpr int kTold = -1;

const in_addr_t kLoopback = htonl(INADDR_LOOPBACK);

sockaddr_in at(in_addr_t address, in_port_t port = 0) {
  return {.sin_family = AF_INET, .sin_port = port, .sin_addr = {address}};
}

int open_socket(in_addr_t address) {
  const int result = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (result < 0) return -1;
  const sockaddr_in here = at(address);
  if (::bind(result, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0) return result;
  ::close(result);
  return -1;
}

sockaddr_in name_of(int socket) {
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  return bound;
}

template <typename Ear>
std::vector<Ear> open_ears(const std::vector<in_addr_t>& addresses) {
  std::vector<Ear> ears;
  for (const in_addr_t address : addresses) {
    base::Descriptor socket(open_socket(address));
    if (socket.open()) ears.push_back({address, std::move(socket)});
  }
  return ears;
}

}  // namespace

bool doorbells_wanted() {
  const char* text = std::getenv(kDoorbellVariable);
  const std::string_view value = text == nullptr ? "on" : text;
  if (value == "on" || value == "off") return value == "on";
  throw Error(ErrorCode::environment, std::string(kDoorbellVariable) + " is \"" + text + "\"",
              "Set it to on or off, or unset it");
}

std::vector<in_addr_t> doorbell_addresses(const Topology& topology) {
  if (!doorbells_wanted()) return {};
  const std::vector<in_addr_t> own = addresses_of_host();
  const auto has = [](const std::vector<in_addr_t>& some, in_addr_t one) {
    return std::ranges::find(some, one) != some.end();
  };
  std::vector<in_addr_t> result;
  bool others_here = topology.networks.empty();
  for (int machine = 0; machine < std::ssize(topology.networks); ++machine) {
    if (machine == topology.machine) continue;
    others_here = others_here || topology.networks[machine] == topology.networks[topology.machine];
    for (const in_addr_t theirs : topology.networks[machine]) {
      if (has(own, theirs)) continue;  // Also of bridges, which have the same on many hosts.
      const in_addr_t source = source_towards(theirs);
      if (has(own, source) && !has(result, source)) result.push_back(source);
    }
  }
  if (others_here) result.push_back(kLoopback);
  return result;
}

Doorbell::Doorbell(int machines, int own, const std::vector<in_addr_t>& addresses,
                   std::function<void()> rung)
    : own_(own),
      rung_(std::move(rung)),
      ears_(open_ears<Ear>(addresses)),
      end_(ears_.empty() ? -1 : ::eventfd(0, EFD_CLOEXEC)),
      machines_(machines),
      proven_(machines) {
  if (!end_.open()) return;
  // The program's signals are for its own threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    open();
  } catch (const std::exception&) {
    // No thread or nothing random is to be had here: there is no bell.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Doorbell::open() {
  std::random_device random;
  secret_ = std::uint64_t{random()} << 32 | random();
  host_ = std::hash<std::string>()(identity_of_host());
  Packer packer;
  packer.put(secret_).put(host_);
  for (const Ear& ear : ears_) {
    packer.put(ear.address).put(name_of(ear.socket.number()).sin_port);
  }
  listener_ = std::thread([this] { listen(); });
  address_ = packer.bytes();
}

Doorbell::~Doorbell() {
  if (!listener_.joinable()) return;
  ::eventfd_write(end_.number(), 1);
  listener_.join();
}

int Doorbell::socket_towards(in_addr_t address) const {
  if (ears_.empty()) return -1;
  const in_addr_t source = address == kLoopback ? kLoopback : source_towards(address);
  for (const Ear& ear : ears_) {
    if (ear.address == source) return ear.socket.number();
  }
  return ears_.front().socket.number();
}

void Doorbell::learn(int machine, std::span<const std::byte> address) {
  if (address.empty()) return;
  Unpacker unpacker(address, machine);
  Machine learnt{.secret = unpacker.take<std::uint64_t>(), .ways = {}};
  const bool here = unpacker.take<std::uint64_t>() == host_;
  for (int number = 0; !unpacker.rest().empty(); ++number) {
    if (number == kMostWays) unpacker.refuse("has more addresses than a machine can");
    const auto where = unpacker.take<in_addr_t>();
    const auto port = unpacker.take<in_port_t>();
    // From the same host by the loopback, which from elsewhere would lead to another bell.
    if (here != (where == kLoopback)) continue;
    learnt.ways.push_back({number, socket_towards(where), at(where, port)});
  }
  machines_[machine] = std::move(learnt);
}

void Doorbell::ring(int machine) {
  const Machine& there = machines_[machine];
  const Ring ring{.secret = there.secret, .from = own_};
  for (const Way& way : there.ways) {
    // What cannot be sent is lost, as others are on their way.
    ::sendto(way.socket, &ring, sizeof ring, MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&way.where), sizeof way.where);
  }
}

int Doorbell::who_rings(std::span<const std::byte> datagram, std::uint64_t secret, int machines) {
  Ring ring;
  if (datagram.size() != sizeof ring) return -1;
  std::memcpy(&ring, datagram.data(), sizeof ring);
  return ring.secret == secret && ring.from >= 0 && ring.from < machines ? ring.from : -1;
}

std::vector<std::pair<int, int>> Doorbell::take_proven_ways() {
  std::vector<std::pair<int, int>> result;
  if (!any_proven_.exchange(false)) return result;
  for (std::size_t machine = 0; machine < proven_.size(); ++machine) {
    const int proven = proven_[machine].load();
    if (proven <= 0) continue;
    proven_[machine] = kTold;
    result.emplace_back(static_cast<int>(machine), proven - 1);
  }
  return result;
}

void Doorbell::prefer(int machine, int way) {
  std::erase_if(machines_[machine].ways, [&](const Way& one) { return one.number != way; });
}

void Doorbell::listen() {
  board::become_servant("syncopate bell");
  std::vector<pollfd> files{{.fd = end_.number(), .events = POLLIN}};
  for (const Ear& ear : ears_) files.push_back({.fd = ear.socket.number(), .events = POLLIN});
  std::array<std::byte, sizeof(Ring)> datagram;
  for (;;) {
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) return;
    for (std::size_t i = 1; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      const ssize_t bytes =
          ::recv(files[i].fd, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_TRUNC);
      if (bytes != std::ssize(datagram)) continue;
      const int from = who_rings(datagram, secret_, static_cast<int>(proven_.size()));
      if (from < 0) continue;
      int unproven = 0;  // The way is the number of the address, from 1 on.
      if (proven_[from].compare_exchange_strong(unproven, static_cast<int>(i))) any_proven_ = true;
      rung_();
    }
  }
}

}  // namespace syncopate::fabric

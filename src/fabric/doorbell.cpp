#include "fabric/doorbell.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "board/host.h"
#include "fabric/packet.h"
#include "syncopate/error.h"

namespace syncopate::fabric {
namespace {

/// More addresses than this of one machine are not tried.
constexpr std::size_t kMostWays = 8;
/// Already taken: the machine was told.
constexpr int kTold = -1;

int open_socket() {
  if (!doorbells_wanted()) return -1;
  const int result = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (result < 0) return -1;
  const sockaddr_in anywhere{.sin_family = AF_INET};
  if (::bind(result, reinterpret_cast<const sockaddr*>(&anywhere), sizeof anywhere) == 0) {
    return result;
  }
  ::close(result);
  return -1;
}

std::uint16_t port_of(int socket) {
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  return bound.sin_port;
}

/// Where those can reach this machine that are not on it.
std::vector<in_addr_t> addresses_of_host() {
  std::vector<in_addr_t> result;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return result;
  for (const ifaddrs* one = all; one != nullptr && result.size() < kMostWays; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    result.push_back(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr);
  }
  ::freeifaddrs(all);
  return result;
}

/// With the addresses, as copies of a virtual machine may have all else in common.
std::uint64_t identity_of_host(const std::vector<in_addr_t>& addresses) {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::array<char, 64> network{};
  if (::readlink("/proc/self/ns/net", network.data(), network.size() - 1) > 0) {
    text += network.data();
  }
  for (const in_addr_t address : addresses) text.append(" ").append(std::to_string(address));
  return std::hash<std::string>()(text);
}

}  // namespace

bool doorbells_wanted() {
  const char* text = std::getenv(kDoorbellVariable);
  const std::string_view value = text == nullptr ? "on" : text;
  if (value == "on" || value == "off") return value == "on";
  throw Error(ErrorCode::environment, std::string(kDoorbellVariable) + " is \"" + text + "\"",
              "Set it to on or off, or unset it");
}

Doorbell::Doorbell(int machines, int own, std::function<void()> rung)
    : own_(own),
      rung_(std::move(rung)),
      socket_(open_socket()),
      end_(!socket_.open() ? -1 : ::eventfd(0, EFD_CLOEXEC)),
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
  const std::vector<in_addr_t> addresses = addresses_of_host();
  host_ = identity_of_host(addresses);
  Packer packer;
  packer.put(secret_).put(host_).put(port_of(socket_.number()));
  for (const in_addr_t address : addresses) packer.put(address);
  listener_ = std::thread([this] { listen(); });
  address_ = packer.bytes();
}

Doorbell::~Doorbell() {
  if (!listener_.joinable()) return;
  ::eventfd_write(end_.number(), 1);
  listener_.join();
}

void Doorbell::learn(int machine, std::span<const std::byte> address) {
  if (address.empty()) return;
  Unpacker unpacker(address);
  Machine& learnt = machines_[machine];
  learnt = {.secret = unpacker.take<std::uint64_t>()};
  const bool here = unpacker.take<std::uint64_t>() == host_;
  const auto port = unpacker.take<std::uint16_t>();
  const auto add = [&](in_addr_t where) {
    learnt.ways.emplace_back(
        static_cast<int>(learnt.ways.size()),
        sockaddr_in{.sin_family = AF_INET, .sin_port = port, .sin_addr = {where}});
  };
  if (here) return add(htonl(INADDR_LOOPBACK));
  while (!unpacker.rest().empty()) add(unpacker.take<in_addr_t>());
}

void Doorbell::ring(int machine) {
  if (!socket_.open()) return;
  const Machine& there = machines_[machine];
  for (const auto& [way, where] : there.ways) {
    const Ring ring{.secret = there.secret, .from = own_, .way = way};
    // What cannot be sent is lost, as others are on their way.
    ::sendto(socket_.number(), &ring, sizeof ring, MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&where), sizeof where);
  }
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
  std::erase_if(machines_[machine].ways, [&](const auto& one) { return one.first != way; });
}

void Doorbell::listen() {
  board::become_servant("syncopate bell");
  std::array<pollfd, 2> files{pollfd{.fd = socket_.number(), .events = POLLIN},
                              pollfd{.fd = end_.number(), .events = POLLIN}};
  for (;;) {
    ::poll(files.data(), files.size(), -1);
    if (files[1].revents != 0) return;
    Ring ring;
    const ssize_t bytes = ::recv(socket_.number(), &ring, sizeof ring, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes != sizeof ring || ring.secret != secret_) continue;
    if (ring.from < 0 || ring.from >= static_cast<int>(proven_.size())) continue;
    int unproven = 0;
    if (proven_[ring.from].compare_exchange_strong(unproven, ring.way + 1)) any_proven_ = true;
    rung_();
  }
}

}  // namespace syncopate::fabric

#include "fabric/tcp/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

constexpr int kBacklog = 4096;  // The kernel takes less, if it has a limit of its own.
// The kernel asks after two seconds of silence, and gives up after three questions.
constexpr int kAskAfter = 2;
constexpr int kAskEvery = 2;
constexpr int kQuestions = 3;

sockaddr_in kernels(const Address& address) {
  return {.sin_family = AF_INET, .sin_port = address.port, .sin_addr = {address.host}};
}

base::Descriptor new_socket() {
  base::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.open()) {
    throw Error(ErrorCode::environment,
                std::string("no socket can be made: ") + std::strerror(errno),
                "Check the limit on open files (ulimit -n)");
  }
  return made;
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

std::string to_string(const Address& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr host{address.host};
  ::inet_ntop(AF_INET, &host, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(address.port));
}

std::optional<Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto port = base::number<int>(std::string_view(text).substr(colon + 1), 1, 65535);
  in_addr host{};
  if (!port || ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &host) != 1) {
    return std::nullopt;
  }
  return Address{host.s_addr, htons(static_cast<std::uint16_t>(*port))};
}

in_addr_t resolve(const std::string& host) {
  const addrinfo wanted{.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (code != 0 || found == nullptr) {
    throw Error(ErrorCode::environment,
                "the host \"" + host + "\" has no IPv4 address: " + ::gai_strerror(code),
                "Name a host that all machines know (MASTER_ADDR under torchrun)");
  }
  const in_addr_t result = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr;
  ::freeaddrinfo(found);
  return result;
}

base::Descriptor listen_at(const Address& address) {
  base::Descriptor result = new_socket();
  set(result.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  const sockaddr_in here = kernels(address);
  if (::bind(result.number(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(result.number(), kBacklog) != 0) {
    throw Error(ErrorCode::environment,
                "cannot listen at " + to_string(address) + ": " + std::strerror(errno),
                "See what else uses the port, and whether this host has the address");
  }
  return result;
}

Address address_of(int socket) {
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  return {bound.sin_addr.s_addr, bound.sin_port};
}

base::Descriptor begin_call(const Address& address) {
  base::Descriptor result = new_socket();
  const sockaddr_in there = kernels(address);
  const int code =
      ::connect(result.number(), reinterpret_cast<const sockaddr*>(&there), sizeof there);
  if (code != 0 && errno != EINPROGRESS) return {};
  return result;
}

bool got_through(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

base::Descriptor accept_one(int listener) {
  return base::Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void prepare_connection(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kAskAfter);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kAskEvery);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kQuestions);
}

}  // namespace syncopate::fabric::tcp

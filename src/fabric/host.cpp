#include "fabric/host.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

#include "base/descriptor.h"
#include "fabric/addresses.h"

namespace syncopate::fabric {

namespace {

void append_namespace(const char* path, std::string& text) {
  std::array<char, 64> name{};
  if (::readlink(path, name.data(), name.size() - 1) > 0) text.append(" ").append(name.data());
}

}  // namespace

std::string identity_of_host() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  append_namespace("/proc/self/ns/net", text);
  // Copies of a virtual machine may have all else in common.
  for (const in_addr_t address : addresses_of_host()) {
    text.append(" ").append(std::to_string(address));
  }
  return text;
}

std::string identity_of_memory() {
  std::string text = identity_of_host();
  append_namespace("/proc/self/ns/pid", text);
  return text + " " + std::to_string(::geteuid());
}

std::string name_of_host() {
  std::string host(256, '\0');
  ::gethostname(host.data(), host.size() - 1);
  host.resize(std::strlen(host.c_str()));
  return host;
}

in_addr_t source_towards(in_addr_t address) {
  const base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  constexpr in_port_t kAnyPort = 9;
  const sockaddr_in there{
      .sin_family = AF_INET, .sin_port = htons(kAnyPort), .sin_addr = {address}};
  if (!socket.open() ||
      ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
    return 0;
  }
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&bound), &length);
  return bound.sin_addr.s_addr;
}

bool is_loopback(in_addr_t address) { return ntohl(address) >> 24 == IN_LOOPBACKNET; }

}  // namespace syncopate::fabric

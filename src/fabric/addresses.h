// The IPv4 addresses of this host, by which others may reach it. A header alone, as plug-ins link
// no libsyncopate.
#pragma once

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstddef>
#include <vector>

namespace syncopate::fabric {

/// More than this of one host are not used.
inline constexpr std::size_t kMostAddresses = 8;

/// In network order; without those of the loopback.
inline std::vector<in_addr_t> addresses_of_host() {
  std::vector<in_addr_t> result;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return result;
  for (const ifaddrs* one = all; one != nullptr && result.size() < kMostAddresses;
       one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    result.push_back(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr);
  }
  ::freeifaddrs(all);
  return result;
}

}  // namespace syncopate::fabric

// HMAC with SHA-256 (FIPS 180-4, RFC 2104): by it a machine proves that it knows the job's secret
// without saying it. Written here, as libsyncopate needs nothing but the C library.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace syncopate::fabric::tcp {

using Digest = std::array<std::byte, 32>;
using Bytes = std::span<const std::byte>;

/// Of the parts, one behind the other.
Digest sha256(std::initializer_list<Bytes> parts);
Digest hmac_sha256(Bytes key, std::initializer_list<Bytes> parts);

/// Takes as long for a first byte that differs as for the last.
bool equal(const Digest& one, const Digest& other);

}  // namespace syncopate::fabric::tcp

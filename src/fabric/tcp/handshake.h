// How two ends of a connection prove to each other that they belong to one job: each says who it is
// and a number that it has never said before, and then a keyed hash of what both have said. So the
// secret is never on the wire, and what was overheard proves nothing a second time. Knows nothing
// of sockets: it is asked what to send, and given what has come.
//
//   caller   → hello
//   answerer → hello, proof
//   caller   → proof
//
// What is said afterwards is neither encrypted nor signed (docs/security.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/tcp/hmac.h"

namespace syncopate::fabric::tcp {

/// What both ends say first. Its bytes are those of the wire.
struct Hello {
  std::array<char, 8> magic = {'s', 'y', 'n', 'c', 'o', 'p', 'a', 't'};
  std::uint32_t protocol = 0;  ///< fabric::kProtocol.
  std::uint32_t subject = 0;   ///< What the connection is for: a fabric's number, or a rendezvous.
  std::int32_t from = 0;       ///< The machine, or the rank, that speaks …
  std::int32_t to = 0;         ///< … and the one it takes the other for.
  Digest nonce{};
};
static_assert(sizeof(Hello) == 56);

/// Bytes that are not to be guessed, from the kernel.
Digest random_digest();

class Handshake {
 public:
  enum class State : std::uint8_t {
    hello,    ///< The other's is still to come.
    proof,    ///< So is its proof.
    done,     ///< It belongs to the job. (There may still be something to send.)
    refused,  ///< It does not: see refusal().
  };
  enum class Refusal : std::uint8_t {
    none,
    stranger,  ///< It does not speak our language at all.
    version,   ///< It is of another version.
    secret,    ///< It does not know the secret, or is not what it should be.
  };

  static Handshake caller(const Digest& secret, const Hello& mine);
  /// `to` of its own hello is the end that calls.
  static Handshake answerer(const Digest& secret, const Hello& mine);

  State state() const { return state_; }
  Refusal refusal() const { return refusal_; }
  const Hello& theirs() const { return theirs_; }
  /// Both ends are through with it.
  bool complete() const { return state_ == State::done && to_send().empty(); }

  Bytes to_send() const { return Bytes(out_).subspan(sent_, out_size_ - sent_); }
  void note_sent(std::size_t bytes) { sent_ += bytes; }
  /// Where the next bytes belong; empty when none are expected.
  std::span<std::byte> to_receive() {
    return std::span(in_).subspan(received_, expected_ - received_);
  }
  void note_received(std::size_t bytes);

 private:
  Handshake(const Digest& secret, const Hello& mine, bool calls);
  void hear_hello();
  void hear_proof(Bytes proof);
  Digest proof(bool of_caller) const;
  void say(Bytes bytes);
  void refuse(Refusal why);

  Digest secret_;
  Hello mine_, theirs_;
  bool calls_;
  State state_ = State::hello;
  Refusal refusal_ = Refusal::none;
  std::array<std::byte, sizeof(Hello) + sizeof(Digest)> out_{}, in_{};
  std::size_t out_size_ = 0, sent_ = 0, received_ = 0, expected_ = sizeof(Hello);
};

}  // namespace syncopate::fabric::tcp

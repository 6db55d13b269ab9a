#include "fabric/tcp/handshake.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

Bytes bytes_of(const Hello& hello) { return std::as_bytes(std::span(&hello, 1)); }

}  // namespace

Digest random_digest() {
  Digest result;
  // Up to 256 bytes come whole once the kernel has any.
  while (::getrandom(result.data(), result.size(), 0) != std::ssize(result)) {
    if (errno == EINTR) continue;
    throw Error(ErrorCode::environment,
                std::string("the kernel gives no random numbers: ") + std::strerror(errno),
                "Allow the system call getrandom");
  }
  return result;
}

Handshake::Handshake(const Digest& secret, const Hello& mine, bool calls)
    : secret_(secret), mine_(mine), calls_(calls) {
  mine_.nonce = random_digest();
}

Handshake Handshake::caller(const Digest& secret, const Hello& mine) {
  Handshake result(secret, mine, true);
  result.say(bytes_of(result.mine_));
  result.expected_ = sizeof(Hello) + sizeof(Digest);
  return result;
}

Handshake Handshake::answerer(const Digest& secret, const Hello& mine) {
  return {secret, mine, false};
}

void Handshake::say(Bytes bytes) {
  std::ranges::copy(bytes, out_.begin() + static_cast<std::ptrdiff_t>(out_size_));
  out_size_ += bytes.size();
}

Digest Handshake::proof(bool of_caller) const {
  // Another text for either end, so that no end can be made to prove what the other should.
  const std::byte role{of_caller ? std::uint8_t{1} : std::uint8_t{2}};
  return hmac_sha256(secret_, {Bytes(&role, 1), bytes_of(calls_ ? mine_ : theirs_),
                               bytes_of(calls_ ? theirs_ : mine_)});
}

void Handshake::refuse(Refusal why) {
  state_ = State::refused;
  refusal_ = why;
  expected_ = received_ = 0;
}

void Handshake::note_received(std::size_t bytes) {
  received_ += bytes;
  if (state_ == State::hello && received_ >= sizeof(Hello)) hear_hello();
  if (state_ != State::proof || received_ < expected_) return;
  hear_proof(Bytes(in_).subspan(expected_ - sizeof(Digest), sizeof(Digest)));
}

void Handshake::hear_hello() {
  std::memcpy(&theirs_, in_.data(), sizeof theirs_);
  if (theirs_.magic != mine_.magic) return refuse(Refusal::stranger);
  if (!calls_) {
    // Also to one of another version, which can then say so.
    mine_.to = theirs_.from;
    mine_.subject = theirs_.subject;
    say(bytes_of(mine_));
    say(proof(false));
  }
  if (theirs_.protocol != mine_.protocol) return refuse(Refusal::version);
  if (calls_ &&
      (theirs_.subject != mine_.subject || theirs_.from != mine_.to || theirs_.to != mine_.from)) {
    return refuse(Refusal::secret);
  }
  state_ = State::proof;
  expected_ = sizeof(Hello) + sizeof(Digest);
}

void Handshake::hear_proof(Bytes said) {
  Digest theirs;
  std::ranges::copy(said, theirs.begin());
  if (!equal(theirs, proof(!calls_))) return refuse(Refusal::secret);
  state_ = State::done;
  expected_ = received_ = 0;
  if (!calls_) return;
  out_size_ = sent_ = 0;
  say(proof(true));
}

}  // namespace syncopate::fabric::tcp

#include "fabric/tcp/shake.h"

#include <sys/socket.h>

#include <cerrno>

namespace syncopate::fabric::tcp {

bool advance(int socket, Handshake& handshake) {
  for (;;) {
    if (const Bytes out = handshake.to_send(); !out.empty()) {
      const ssize_t sent = ::send(socket, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      handshake.note_sent(sent);
      continue;
    }
    const std::span<std::byte> in = handshake.to_receive();
    if (in.empty()) return true;
    const ssize_t received = ::recv(socket, in.data(), in.size(), MSG_DONTWAIT);
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    if (received == 0) return false;
    handshake.note_received(received);
  }
}

void TurnedAway::note(const Handshake& handshake) {
  switch (handshake.refusal()) {
    case Handshake::Refusal::none:
      ++silent_;
      return;
    case Handshake::Refusal::stranger:
      ++strange_;
      return;
    case Handshake::Refusal::version:
      ++version_;
      their_protocol_ = handshake.theirs().protocol;
      return;
    case Handshake::Refusal::secret:
      ++secret_;
      return;
  }
}

std::string TurnedAway::describe() const {
  const int all = silent_ + strange_ + version_ + secret_ + slow_;
  if (all == 0) return "";
  std::string result = " (" + std::to_string(all) +
                       (all == 1 ? " connection was" : " connections were") + " turned away";
  const char* separator = ": ";
  const auto add = [&](int count, const std::string& what) {
    if (count == 0) return;
    result.append(separator).append(std::to_string(count)).append(" ").append(what);
    separator = ", ";
  };
  add(strange_, "spoke another language");
  add(version_, "of another version (protocol " + std::to_string(their_protocol_) + ")");
  add(secret_, "without the job's secret");
  add(slow_, "too slow");
  add(silent_, "closed before the end");
  return result + ")";
}

}  // namespace syncopate::fabric::tcp

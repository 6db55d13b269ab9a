#include "fabric/tcp/peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bad_message.h"

namespace syncopate::fabric::tcp {
namespace {

/// A machine that acknowledges nothing for so long is out of reach, or down. (One that is stopped
/// is not: its kernel goes on.)
constexpr std::uint32_t kOutOfReachAfter = 7'000;  // milliseconds
/// Frames that are handed to the kernel at once.
constexpr int kMostAtOnce = 16;

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Peer::Peer(int machine, base::Descriptor socket, const OpenChannels& channels, Inbox& inbox,
           std::vector<std::byte>& staging)
    : machine_(machine),
      socket_(std::move(socket)),
      inbox_(inbox),
      staging_(staging),
      inbound_(machine, *this),
      receiving_(machine, channels),
      long_(machine) {}

void Peer::lose(std::string why) {
  if (!lost_.empty()) return;
  lost_ = std::move(why);
  frames_.clear();
  long_.sendable().clear();
  socket_.close();
}

void Peer::put(const Frame& frame, std::vector<std::byte> message) {
  Outgoing& out = frames_.emplace_back();
  out.head = pack(frame);
  out.length = message.size();
  out.message = std::move(message);
  kept_ += out.length;
}

void Peer::send(std::vector<std::byte> message) {
  if (!lost_.empty() || gone_) return;
  if (kept_ + message.size() > kMostKept) {
    return lose("takes no messages, and too many wait for it");
  }
  const std::size_t length = message.size();
  put({.kind = Frame::Kind::message, .length = length}, std::move(message));
  write();
}

void Peer::send(Way way, const TransferPointer& transfer) {
  if (!lost_.empty() || gone_) return;
  if (transfer->bytes > kShortValues) {
    long_.offer(way, transfer);
  } else {
    put({.kind = Frame::Kind::values,
         .tag = way.tag,
         .channel = way.channel,
         .length = transfer->bytes});
    frames_.back().transfer = transfer;
    frames_.back().length = transfer->bytes;
  }
  write();
}

void Peer::receive(Way way, const TransferPointer& transfer) {
  if (!lost_.empty()) return;
  receiving_.expect(way, transfer);
  if (transfer->bytes <= kShortValues || gone_) return;
  put({.kind = Frame::Kind::ready,
       .tag = way.tag,
       .channel = way.channel,
       .length = transfer->bytes});
  write();
}

void Peer::forget(std::uint32_t channel) {
  receiving_.forget(channel);
  long_.forget(channel);
}

void Peer::say_bye() {
  if (!lost_.empty()) return;
  put({.kind = Frame::Kind::bye});
  write();
}

void Peer::begin(const Frame& frame) {
  if (gone_) throw BadMessage(machine_, "comes after its last");
  const Way way{frame.channel, frame.tag};
  coming_ = frame.kind;
  switch (frame.kind) {
    case Frame::Kind::message:
      message_.resize(frame.length);
      return;
    case Frame::Kind::values:
    case Frame::Kind::piece:
      return receiving_.begin(frame);
    case Frame::Kind::ready:
      return long_.note_ready(way, frame.length);
    case Frame::Kind::bye:
      gone_ = true;
      return;
  }
}

std::byte* Peer::payload() {
  return coming_ == Frame::Kind::message ? message_.data() : receiving_.payload();
}

void Peer::end(const Frame& frame) {
  if (frame.kind == Frame::Kind::message) {
    inbox_.put(machine_, std::move(message_));
  } else if (frame.kind == Frame::Kind::values || frame.kind == Frame::Kind::piece) {
    receiving_.end();
  }
}

void Peer::advance() {
  if (readable_ && lost_.empty()) read();
  if (writable_ && lost_.empty()) write();
}

void Peer::read() {
  while (!inbox_.full()) {
    const std::span<std::byte> direct = senseless_ ? std::span<std::byte>() : inbound_.direct();
    const std::span<std::byte> into = direct.empty() ? std::span(staging_) : direct;
    const ssize_t bytes = ::recv(socket_.number(), into.data(), into.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && would_wait()) {
      readable_ = false;
      return;
    }
    if (bytes <= 0) {
      readable_ = false;
      if (gone_) return;
      return lose(bytes == 0 ? "has gone without a word"
                             : std::string("cannot be reached: ") + std::strerror(errno));
    }
    hear(into.first(bytes), !direct.empty());
  }
}

void Peer::hear(std::span<const std::byte> bytes, bool direct) {
  if (senseless_) return;
  try {
    direct ? inbound_.note_direct(bytes.size()) : inbound_.take(bytes);
  } catch (const BadMessage&) {
    senseless_ = true;
    throw;
  }
}

bool Peer::take_piece() {
  auto& sendable = long_.sendable();
  while (!sendable.empty() && sendable.front().transfer->given_up) {
    if (sendable.front().transfer->moved > 0) {
      lose("waits for values that were given up");
      return false;
    }
    sendable.pop_front();
  }
  if (sendable.empty()) return false;
  const auto& [way, transfer] = sendable.front();
  const std::size_t length = std::min(kPiece, transfer->bytes - transfer->moved);
  put({.kind = Frame::Kind::piece, .tag = way.tag, .channel = way.channel, .length = length});
  frames_.back().transfer = transfer;
  frames_.back().length = length;
  return true;
}

bool Peer::find_frame() {
  while (!frames_.empty()) {
    const Outgoing& frame = frames_.front();
    if (frame.transfer == nullptr || !frame.transfer->given_up) return true;
    if (frame.sent > 0 || frame.transfer->moved > 0) {
      lose("waits for values that were given up");
      return false;
    }
    frames_.pop_front();
  }
  return take_piece();
}

int Peer::parts_of(const Outgoing& frame, iovec* parts) const {
  int count = 0;
  if (frame.sent < kHeadBytes) {
    parts[count++] = {const_cast<std::byte*>(frame.head.data()) + frame.sent,
                      kHeadBytes - frame.sent};
  }
  const std::size_t begin = frame.sent > kHeadBytes ? frame.sent - kHeadBytes : 0;
  if (begin < frame.length) {
    const std::byte* values = frame.transfer != nullptr
                                  ? frame.transfer->from + frame.transfer->moved
                                  : frame.message.data();
    parts[count++] = {const_cast<std::byte*>(values) + begin, frame.length - begin};
  }
  return count;
}

void Peer::note_sent(Outgoing& frame, std::size_t& bytes) {
  const std::size_t part = std::min(bytes, kHeadBytes + frame.length - frame.sent);
  frame.sent += part;
  bytes -= part;
  if (!frame.whole()) return;
  if (frame.transfer == nullptr) {
    kept_ -= frame.length;
  } else {
    frame.transfer->moved += frame.length;
    frame.transfer->done = frame.transfer->moved == frame.transfer->bytes;
    auto& sendable = long_.sendable();
    if (frame.transfer->done && !sendable.empty() && sendable.front().transfer == frame.transfer) {
      sendable.pop_front();
    }
  }
}

void Peer::write() {
  while (writable_ && lost_.empty() && find_frame()) {
    std::array<iovec, 2 * kMostAtOnce> parts;
    int count = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(frames_.size(), kMostAtOnce); ++i) {
      // One whose values are gone is dropped when it is the first.
      if (frames_[i].transfer != nullptr && frames_[i].transfer->given_up) break;
      count += parts_of(frames_[i], parts.data() + count);
    }
    msghdr message{.msg_iov = parts.data(), .msg_iovlen = static_cast<std::size_t>(count)};
    const ssize_t sent = ::sendmsg(socket_.number(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && would_wait()) {
      writable_ = false;
      return;
    }
    if (sent < 0) {
      // What it said before is still to be read, perhaps why.
      writable_ = false;
      if (gone_) return;
      const std::string why = std::string("cannot be reached: ") + std::strerror(errno);
      read();
      return gone_ ? void() : lose(why);
    }
    for (auto left = static_cast<std::size_t>(sent); left > 0;) {
      note_sent(frames_.front(), left);
      if (frames_.front().whole()) frames_.pop_front();
    }
  }
}

void Peer::look_after() {
  if (!lost_.empty() || gone_) return;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket_.number(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  // What is not acknowledged was sent again by now. A machine that takes no more for a while, as it
  // is stopped, acknowledges what asks for that.
  const bool asks = info.tcpi_unacked > 0 ? info.tcpi_retransmits > 0 : info.tcpi_probes > 2;
  if (asks && info.tcpi_last_ack_recv >= kOutOfReachAfter) {
    lose("cannot be reached: it has acknowledged nothing for " +
         std::to_string(info.tcpi_last_ack_recv / 1000) + " s");
  }
}

}  // namespace syncopate::fabric::tcp

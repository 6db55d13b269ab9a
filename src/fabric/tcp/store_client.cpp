#include "fabric/tcp/store_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "board/launcher_board.h"
#include "fabric/plugin.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

constexpr auto kCallAgainAfter = std::chrono::milliseconds(20);

bool wait_for(int socket, bool sends, Clock::time_point until) {
  pollfd polled{.fd = socket, .events = static_cast<short>(sends ? POLLOUT : POLLIN)};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    if (::poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) > 0) {
      return true;
    }
  }
}

}  // namespace

Hello hello_of(const StorePlace& place) {
  constexpr std::uint32_t kOfRendezvous = 1U << 31;
  return {.protocol = kProtocol,
          .subject = kOfRendezvous | static_cast<std::uint32_t>(place.size),
          .from = place.rank,
          .to = 0};
}

void StoreClient::in_vain() const {
  throw Error(ErrorCode::timeout,
              "rank " + std::to_string(place_.rank) + " waited in vain for rank 0 at " + where() +
                  turned_away_.describe(),
              "See whether rank 0 runs and can be reached there (SYNCOPATE_PORT names another "
              "port), or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
}

void StoreClient::left_alone() const {
  throw Error(ErrorCode::environment,
              "rank 0, which kept the rendezvous at " + where() + ", is gone",
              "Look for what it has said, and start all ranks again");
}

bool StoreClient::call(Clock::time_point until) {
  socket_ = begin_call({resolve(place_.host), htons(static_cast<std::uint16_t>(place_.port))});
  if (!socket_.open()) return false;
  until = std::min(until, Clock::now() + Clock::duration(kHandshakeTime));
  if (!wait_for(socket_.number(), true, until) || !got_through(socket_.number())) return false;
  Handshake handshake = Handshake::caller(users_secret(place_.job), hello_of(place_));
  while (advance(socket_.number(), handshake)) {
    // The keeper of the world before may still be there, and have no place for this rank.
    if (handshake.complete()) return try_to_hear(until).has_value();
    if (handshake.state() == Handshake::State::refused) break;
    if (!wait_for(socket_.number(), !handshake.to_send().empty(), until)) break;
  }
  if (handshake.state() == Handshake::State::refused) turned_away_.note(handshake);
  return false;
}

void StoreClient::connect(Clock::time_point until) {
  while (!socket_.open()) {
    if (call(until)) return;
    socket_.close();
    if (Clock::now() >= until) in_vain();
    std::this_thread::sleep_for(kCallAgainAfter);
  }
}

void StoreClient::say(const Words& words, Clock::time_point until) {
  connect(until);
  const std::string bytes = pack(words);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t part = ::send(socket_.number(), bytes.data() + sent, bytes.size() - sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (part < 0 && errno != EAGAIN && errno != EINTR) left_alone();
    if (part < 0 && !wait_for(socket_.number(), true, until)) in_vain();
    sent += std::max<ssize_t>(part, 0);
  }
}

std::optional<Words> StoreClient::try_to_hear(Clock::time_point until) {
  WordsReader reader;
  std::array<char, 16 << 10> bytes;
  for (;;) {
    const ssize_t part = ::recv(socket_.number(), bytes.data(),
                                std::min(bytes.size(), reader.wanted()), MSG_DONTWAIT);
    if (part < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait_for(socket_.number(), false, until)) return std::nullopt;
      continue;
    }
    if (part <= 0 || !reader.take(bytes.data(), part)) return std::nullopt;
    if (auto words = reader.next()) return words;
  }
}

void StoreClient::set(const std::string& key, const std::string& value) {
  say({.kind = Words::Kind::set, .key = key, .value = value},
      Clock::now() + board::timeout_from_environment());
}

std::string StoreClient::get(const std::string& key, Duration timeout) {
  const auto until = Clock::now() + timeout;
  say({.kind = Words::Kind::get, .key = key, .value = {}}, until);
  for (;;) {
    auto heard = try_to_hear(until);
    if (!heard && Clock::now() >= until) {
      throw Error(ErrorCode::timeout, "no rank has set " + key + " in time",
                  "Look for what became of the other ranks");
    }
    if (!heard || heard->kind != Words::Kind::answer) left_alone();
    // Another one answers a question that this rank gave up.
    if (heard->key == key) return std::move(heard->value);
  }
}

}  // namespace syncopate::fabric::tcp

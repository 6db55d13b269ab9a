#include "fabric/tcp/hub.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/bad_message.h"
#include "fabric/machine_lost.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

constexpr std::size_t kStaging = 64 << 10;
constexpr int kMostEvents = 64;

base::Descriptor new_events() {
  base::Descriptor made(::epoll_create1(EPOLL_CLOEXEC));
  if (made.open()) return made;
  throw Error(ErrorCode::environment,
              std::string("no epoll descriptor can be made: ") + std::strerror(errno),
              "Check the limit on open files (ulimit -n)");
}

}  // namespace

void Loopback::send(Way way, const TransferPointer& transfer) {
  const auto at = waiting_.try_emplace(way).first;
  at->second.sent.push_back(transfer);
  match(at);
}

void Loopback::receive(Way way, const TransferPointer& transfer) {
  const auto at = waiting_.try_emplace(way).first;
  at->second.received.push_back(transfer);
  match(at);
}

void Loopback::match(std::map<Way, Waiting>::iterator at) {
  auto& [sent, received] = at->second;
  while (!sent.empty() && !received.empty()) {
    Transfer& from = *sent.front();
    Transfer& into = *received.front();
    const bool whole = !from.given_up && !into.given_up && into.bytes > 0;
    if (whole) std::memcpy(into.into, from.from, std::min(into.bytes, from.bytes));
    from.done = into.done = true;
    sent.pop_front();
    received.pop_front();
  }
  if (sent.empty() && received.empty()) waiting_.erase(at);
}

void Loopback::forget(std::uint32_t channel) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first.channel == channel; });
}

Hub::Hub(int machine, std::vector<base::Descriptor> connections)
    : machine_(machine), events_(new_events()), staging_(kStaging), peers_(connections.size()) {
  for (std::size_t other = 0; other < connections.size(); ++other) {
    if (!connections[other].open()) continue;
    peers_[other] = std::make_unique<Peer>(static_cast<int>(other), std::move(connections[other]),
                                           channels_, inbox_, staging_);
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                      .data = {.u32 = static_cast<std::uint32_t>(other)}};
    ::epoll_ctl(events_.number(), EPOLL_CTL_ADD, peers_[other]->socket(), &event);
  }
}

Hub::~Hub() {
  try {
    say_goodbye();
  } catch (const std::exception&) {
    // A destructor has no caller to tell, and the connections go in any case.
  }
}

// A connection that is closed while something unread lies in it is cut off, and what was on its way
// to the other end may be lost. So each end reads until the other has said that it goes.
void Hub::say_goodbye() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (const auto& peer : peers_) {
    if (peer != nullptr) peer->say_bye();
  }
  while (std::chrono::steady_clock::now() < deadline) {
    inbox_.clear();
    advance();
    const bool over = std::ranges::all_of(peers_, [](const auto& peer) {
      return peer == nullptr || !peer->lost().empty() || (peer->gone() && peer->sent_all());
    });
    if (over) return;
    pollfd polled{.fd = events_.number(), .events = POLLIN};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ::poll(&polled, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 500)));
  }
}

void Hub::send(int machine, std::span<const std::byte> message) {
  if (message.size() > Fabric::kLongestMessage) {
    throw Error(ErrorCode::environment,
                "a message of " + std::to_string(message.size()) + " bytes is too long",
                "This is a mistake in Syncopate");
  }
  std::vector<std::byte> copy(message.begin(), message.end());
  if (machine == machine_) {
    inbox_.put(machine, std::move(copy));
  } else {
    peers_[machine]->send(std::move(copy));
  }
}

int Hub::receive(std::vector<std::byte>& message) {
  if (inbox_.empty()) advance();
  if (inbox_.empty()) {
    expect_all();
    return -1;
  }
  return inbox_.take(message);
}

std::uint32_t Hub::open_channel() {
  channels_.open.insert(channels_.next);
  return channels_.next++;
}

void Hub::close_channel(std::uint32_t channel) {
  channels_.open.erase(channel);
  loopback_.forget(channel);
  for (const auto& peer : peers_) {
    if (peer != nullptr) peer->forget(channel);
  }
}

void Hub::send(int machine, Way way, const TransferPointer& transfer) {
  machine == machine_ ? loopback_.send(way, transfer) : peers_[machine]->send(way, transfer);
}

void Hub::receive(int machine, Way way, const TransferPointer& transfer) {
  machine == machine_ ? loopback_.receive(way, transfer) : peers_[machine]->receive(way, transfer);
}

void Hub::note_events() {
  std::array<epoll_event, kMostEvents> events;
  int count = kMostEvents;
  while (count == kMostEvents) {
    count = ::epoll_wait(events_.number(), events.data(), kMostEvents, 0);
    for (int i = 0; i < count; ++i) {
      Peer& peer = *peers_[events[i].data.u32];
      if ((events[i].events & ~EPOLLOUT) != 0) peer.note_readable();
      if ((events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) peer.note_writable();
    }
  }
}

void Hub::look_after_peers() {
  const auto now = std::chrono::steady_clock::now();
  if (now < looked_after_ + kLookAfterEvery) return;
  looked_after_ = now;
  for (const auto& peer : peers_) {
    if (peer != nullptr) peer->look_after();
  }
}

void Hub::advance() {
  if (stepping_) return;
  note_events();
  for (const auto& peer : peers_) {
    if (peer != nullptr) peer->advance();
  }
  look_after_peers();
  struct Mark {
    explicit Mark(bool& flag) : flag_(flag) { flag_ = true; }
    ~Mark() { flag_ = false; }
    bool& flag_;
  } const mark(stepping_);
  for (std::size_t i = 0; i < steps_.size();) {
    Steps* const one = steps_[i];
    one->take_steps();
    if (i < steps_.size() && steps_[i] == one) ++i;  // Else it was complete.
  }
}

void Hub::expect_all() const {
  if (!inbox_.empty()) return;
  for (std::size_t machine = 0; machine < peers_.size(); ++machine) {
    const Peer* peer = peers_[machine].get();
    if (peer != nullptr && !peer->lost().empty()) {
      throw MachineLost(static_cast<int>(machine), peer->lost());
    }
  }
}

}  // namespace syncopate::fabric::tcp

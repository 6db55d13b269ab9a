#include "fabric/tcp/store_keeper.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "board/platform.h"
#include "fabric/addresses.h"
#include "fabric/host.h"
#include "fabric/tcp/store_client.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

constexpr auto kLongestPoll = std::chrono::milliseconds(200);
/// What a rank may ask for at a time without having taken an answer: it asks for one.
constexpr std::size_t kMostAsked = 4;

/// Where rank 0 has to listen for the others to find it under the name they know. A host often
/// takes its own name for its loopback, which others do not reach.
std::vector<in_addr_t> addresses_to_listen_at(const StorePlace& place) {
  std::vector<in_addr_t> result{resolve(place.host)};
  if (place.one_host || !is_loopback(result.front())) return result;
  for (const in_addr_t address : addresses_of_host()) result.push_back(address);
  return result;
}

}  // namespace

StoreKeeper::StoreKeeper(const StorePlace& place)
    : place_(place),
      secret_(users_secret(place.job)),
      alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (place.size == 1) return;
  for (const in_addr_t address : addresses_to_listen_at(place)) {
    try {
      listeners_.push_back(listen_at({address, htons(static_cast<std::uint16_t>(place.port))}));
    } catch (const Error& error) {
      throw Error(
          ErrorCode::environment, "rank 0 " + error.what_happened(),
          "Set SYNCOPATE_PORT, for all ranks, to a port that is free on the host of rank 0");
    }
  }
  // The program's signals are for its own threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StoreKeeper::~StoreKeeper() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
}

void StoreKeeper::wake() const { ::eventfd_write(alarm_.number(), 1); }

void StoreKeeper::set(const std::string& key, const std::string& value) {
  {
    const std::lock_guard lock(mutex_);
    table_[key] = value;
  }
  wake();
}

std::string StoreKeeper::get(const std::string& key, Duration timeout) {
  std::unique_lock lock(mutex_);
  const bool there = changed_.wait_for(lock, timeout, [&] { return table_.contains(key); });
  if (there) return table_.at(key);
  throw Error(ErrorCode::timeout, "no rank has set " + key + " in time" + turned_away_.describe(),
              "Look for what became of the other ranks");
}

bool StoreKeeper::over() const {
  return static_cast<int>(came_.size()) == place_.size - 1 && clients_.empty();
}

void StoreKeeper::serve() {
  board::become_servant("syncopate store");
  auto deadline = Clock::time_point::max();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (ending_ && deadline == Clock::time_point::max()) deadline = Clock::now() + kPatience;
    }
    if (deadline != Clock::time_point::max() && (over() || Clock::now() >= deadline)) return;
    wait();
    eventfd_t ignored = 0;
    ::eventfd_read(alarm_.number(), &ignored);
    accept_all();
    std::erase_if(strangers_, [this](Stranger& one) { return advance_stranger(one); });
    for (auto at = clients_.begin(); at != clients_.end();) {
      at = advance_client(at->second) ? std::next(at) : clients_.erase(at);
    }
  }
}

void StoreKeeper::wait() {
  std::vector<pollfd> polled{{.fd = alarm_.number(), .events = POLLIN}};
  for (const auto& listener : listeners_) {
    polled.push_back({.fd = listener.number(), .events = POLLIN});
  }
  for (const Stranger& stranger : strangers_) {
    const bool sends = !stranger.handshake.to_send().empty();
    polled.push_back(
        {.fd = stranger.socket.number(), .events = static_cast<short>(sends ? POLLOUT : POLLIN)});
  }
  for (const auto& [rank, client] : clients_) {
    polled.push_back(
        {.fd = client.socket.number(),
         .events = static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT)});
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(kLongestPoll.count()));
  ready_.clear();
  for (const pollfd& one : polled) {
    if (one.revents != 0) ready_.push_back(one.fd);
  }
}

bool StoreKeeper::has_news(int socket) const {
  return std::ranges::find(ready_, socket) != ready_.end();
}

void StoreKeeper::accept_all() {
  for (const auto& listener : listeners_) {
    for (;;) {
      base::Descriptor socket = accept_one(listener.number());
      if (!socket.open()) break;
      if (strangers_.size() == kMostStrangers) strangers_.pop_front();
      strangers_.push_back({.socket = std::move(socket),
                            .handshake = Handshake::answerer(secret_, hello_of(place_)),
                            .until = Clock::now() + kHandshakeTime});
    }
  }
}

bool StoreKeeper::advance_stranger(Stranger& stranger) {
  Handshake& handshake = stranger.handshake;
  const bool works =
      !has_news(stranger.socket.number()) || advance(stranger.socket.number(), handshake);
  if (handshake.complete()) {
    const Hello& theirs = handshake.theirs();
    const bool fits = theirs.subject == hello_of(place_).subject && theirs.to == 0 &&
                      theirs.from > 0 && theirs.from < place_.size;
    // A rank that is here already, or was, is another's twin.
    if (fits && came_.insert(theirs.from).second) {
      Client& client = clients_[theirs.from];
      client.socket = std::move(stranger.socket);
      client.out = pack(Words{.kind = Words::Kind::answer});  // It is welcome.
    }
    return true;
  }
  if (works && handshake.state() != Handshake::State::refused && Clock::now() < stranger.until) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const bool slow = works && handshake.state() != Handshake::State::refused;
  slow ? turned_away_.note_slow() : turned_away_.note(handshake);
  return true;
}

bool StoreKeeper::read(Client& client) {
  std::array<char, 16 << 10> bytes;
  for (;;) {
    const ssize_t part = ::recv(client.socket.number(), bytes.data(),
                                std::min(bytes.size(), client.reader.wanted()), MSG_DONTWAIT);
    if (part < 0) return errno == EAGAIN || errno == EINTR;
    if (part == 0 || !client.reader.take(bytes.data(), part)) return false;
    const auto words = client.reader.next();
    if (!words) continue;
    if (words->kind == Words::Kind::get) {
      client.asked.insert(words->key);
      if (client.asked.size() > kMostAsked) return false;
    } else if (words->kind == Words::Kind::set) {
      const std::lock_guard lock(mutex_);
      table_[words->key] = words->value;
      changed_.notify_all();
      wake();  // Others may have asked for it.
    } else {
      return false;
    }
  }
}

void StoreKeeper::answer(Client& client) {
  const std::lock_guard lock(mutex_);
  std::erase_if(client.asked, [&](const std::string& key) {
    const auto at = table_.find(key);
    if (at == table_.end()) return false;
    client.out += pack(Words{.kind = Words::Kind::answer, .key = key, .value = at->second});
    return true;
  });
}

bool StoreKeeper::advance_client(Client& client) {
  if (has_news(client.socket.number()) && !read(client)) return false;
  answer(client);
  while (!client.out.empty()) {
    const ssize_t sent = ::send(client.socket.number(), client.out.data(), client.out.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    client.out.erase(0, sent);
  }
  return true;
}

}  // namespace syncopate::fabric::tcp

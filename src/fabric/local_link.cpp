#include "fabric/local_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "board/launcher_board.h"
#include "fabric/host.h"
#include "syncopate/error.h"
#include "syncopate/rank_set.h"

namespace syncopate::fabric {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTryAgainAfter = std::chrono::milliseconds(2);
constexpr std::size_t kLongestPacket = 32 << 10;
constexpr std::uint32_t kMagic = 0x53594e43;

Clock::time_point deadline() { return Clock::now() + board::timeout_from_environment(); }

std::string variable(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : text;
}

/// Of one start of one job of one user.
std::string meeting_point() {
  const std::string run = variable("TORCHELASTIC_RUN_ID", "none");
  const std::string name = "syncopate/" + std::to_string(geteuid()) + "/" +
                           variable("MASTER_PORT", "0") + "/" +
                           variable("TORCHELASTIC_RESTART_COUNT", "0") + "/";
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;  // After the leading zero.
  if (name.size() + run.size() <= kLongest) return name + run;
  return (name + std::to_string(std::hash<std::string>{}(run))).substr(0, kLongest);
}

using Socket = base::Descriptor;

struct Address {
  explicit Address(const std::string& name) {
    path.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), path.sun_path + 1);  // A leading zero: no file.
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&path); }
  sockaddr_un path{};
  socklen_t length;
};

Socket new_socket() {
  Socket made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.open()) {
    throw Error(ErrorCode::environment, std::string("no socket can be made: ") + strerror(errno),
                "Check the limit on open files (ulimit -n)");
  }
  return made;
}

uid_t user_of(const Socket& peer) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  const bool known = getsockopt(peer.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0;
  return known ? credentials.uid : static_cast<uid_t>(-1);
}

/// Whether something has come before the deadline.
bool wait_for_news(std::vector<pollfd>& polled, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    const auto milliseconds = std::min<std::int64_t>(left.count(), 60'000);
    if (poll(polled.data(), polled.size(), static_cast<int>(milliseconds)) > 0) return true;
  }
}

/// What a rank says when it comes.
struct Greeting {
  std::uint32_t magic = kMagic;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
};

class LocalLink : public Link {
 public:
  explicit LocalLink(const JobEnvironment& launcher) : name_(meeting_point()) {
    topology_.rank = launcher.rank;
    topology_.machine_of.assign(launcher.ranks, 0);
    topology_.addresses.push_back(name_of_host());
    if (launcher.rank > 0) {
      go();
    } else if (launcher.ranks > 1) {
      receive_others();
    }
  }

  const Topology& topology() const override { return topology_; }
  std::string from_first(const std::string& text) override;
  std::unique_ptr<Fabric> fabric() override { return nullptr; }

 private:
  void receive_others();
  void go();
  int greet(const Socket& stranger) const;
  std::vector<std::byte> next_packet(Clock::time_point until) const;
  [[noreturn]] void in_vain(const std::string& whom) const;

  std::string name_;
  Topology topology_;
  std::vector<Socket> others_;  ///< The first rank's, by rank.
  Socket first_;                ///< The others'.
};

void LocalLink::in_vain(const std::string& whom) const {
  throw Error(ErrorCode::timeout,
              "rank " + std::to_string(topology_.rank) + " waited in vain for " + whom +
                  " to come to " + name_,
              "Start all ranks with the same MASTER_PORT and TORCHELASTIC_RUN_ID, or allow more "
              "time (SYNCOPATE_TIMEOUT, in seconds)");
}

void LocalLink::receive_others() {
  const Clock::time_point until = deadline();
  const Socket listener = new_socket();
  const Address address(name_);
  if (bind(listener.number(), address.get(), address.length) != 0 ||
      listen(listener.number(), topology_.ranks()) != 0) {
    throw Error(ErrorCode::environment, "rank 0 cannot listen at " + name_ + ": " + strerror(errno),
                "Another job that is starting may have the same MASTER_PORT: give each job a port "
                "of its own");
  }
  others_.resize(topology_.ranks());
  RankSet missing(topology_.ranks());
  for (int rank = 1; rank < topology_.ranks(); ++rank) missing.insert(rank);
  std::vector<Socket> strangers;  // They have yet to say who they are.
  while (!missing.empty()) {
    std::vector<pollfd> polled{{listener.number(), POLLIN, 0}};
    for (const Socket& stranger : strangers) polled.push_back({stranger.number(), POLLIN, 0});
    if (!wait_for_news(polled, until)) in_vain("rank " + to_string(missing));
    for (std::size_t i = strangers.size(); i-- > 0;) {
      if (polled[i + 1].revents == 0) continue;
      const int rank = greet(strangers[i]);
      if (missing.contains(rank)) {
        others_[rank] = std::move(strangers[i]);
        missing.erase(rank);
      }
      strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(i));
    }
    Socket stranger(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (stranger.open() && user_of(stranger) == geteuid()) {
      strangers.push_back(std::move(stranger));
    }
  }
}

/// Who it is; -1 if it does not belong here.
int LocalLink::greet(const Socket& stranger) const {
  Greeting greeting{.magic = 0};
  const ssize_t bytes = recv(stranger.number(), &greeting, sizeof greeting, 0);
  const bool fits =
      bytes == sizeof greeting && greeting.magic == kMagic && greeting.ranks == topology_.ranks();
  return fits ? greeting.rank : -1;
}

void LocalLink::go() {
  const Clock::time_point until = deadline();
  const Address address(name_);
  first_ = new_socket();
  while (connect(first_.number(), address.get(), address.length) != 0) {
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
      throw Error(ErrorCode::environment,
                  "rank " + std::to_string(topology_.rank) + " cannot come to " + name_ + ": " +
                      strerror(errno),
                  "Start all ranks on one machine, in one network namespace");
    }
    if (Clock::now() >= until) in_vain("rank 0");
    std::this_thread::sleep_for(kTryAgainAfter);
  }
  if (user_of(first_) != geteuid()) {
    throw Error(ErrorCode::environment,
                "another user listens at " + name_ + ", where rank 0 should be",
                "Start the job with another MASTER_PORT");
  }
  const Greeting greeting{.rank = topology_.rank, .ranks = topology_.ranks()};
  send(first_.number(), &greeting, sizeof greeting, MSG_NOSIGNAL);
}

std::vector<std::byte> LocalLink::next_packet(Clock::time_point until) const {
  std::vector<pollfd> polled{{first_.number(), POLLIN, 0}};
  if (!wait_for_news(polled, until)) in_vain("the word of rank 0");
  std::vector<std::byte> packet(kLongestPacket);
  const ssize_t bytes = recv(first_.number(), packet.data(), packet.size(), 0);
  if (bytes <= 0) {
    throw Error(ErrorCode::environment,
                "rank 0 turned rank " + std::to_string(topology_.rank) + " away at " + name_ +
                    ", or is gone",
                "Start each rank once, with the same WORLD_SIZE, and give each job a MASTER_PORT "
                "of its own");
  }
  packet.resize(static_cast<std::size_t>(bytes));
  return packet;
}

std::string LocalLink::from_first(const std::string& text) {
  if (topology_.rank == 0) {
    const std::uint64_t length = text.size();
    for (const Socket& other : others_) {
      if (!other.open()) continue;  // It is this rank's own place.
      // Who is gone is missed later, by name, where the ranks meet.
      send(other.number(), &length, sizeof length, MSG_NOSIGNAL);
      for (std::size_t sent = 0; sent < text.size(); sent += kLongestPacket) {
        const std::size_t bytes = std::min(kLongestPacket, text.size() - sent);
        send(other.number(), text.data() + sent, bytes, MSG_NOSIGNAL);
      }
    }
    return text;
  }
  const Clock::time_point until = deadline();
  std::uint64_t length = 0;
  const auto head = next_packet(until);
  std::memcpy(&length, head.data(), std::min(head.size(), sizeof length));
  std::string result;
  while (result.size() < length) {
    const auto packet = next_packet(until);
    result.append(reinterpret_cast<const char*>(packet.data()), packet.size());
  }
  return result;
}

}  // namespace

std::unique_ptr<Link> make_local_link(const JobEnvironment& launcher) {
  return std::make_unique<LocalLink>(launcher);
}

}  // namespace syncopate::fabric

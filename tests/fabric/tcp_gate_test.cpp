// Where machines and ranks meet, with real sockets: those that belong together do, and whatever
// else comes neither gets in nor keeps them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fabric/plugin.h"
#include "fabric/tcp/gate.h"
#include "fabric/tcp/store.h"
#include "fabric/tcp/store_words.h"
#include "syncopate/error.h"

namespace syncopate::testing {
namespace {

using namespace fabric::tcp;
using namespace std::chrono_literals;

const Digest kSecret = sha256({});

fabric::Topology topology(int machine, int machines) {
  fabric::Topology result{.machine = machine};
  for (int other = 0; other < machines; ++other) {
    result.machine_of.push_back(other);
    result.addresses.push_back("host" + std::to_string(other));
  }
  return result;
}

struct Gates {
  explicit Gates(int machines) {
    for (int machine = 0; machine < machines; ++machine) {
      gates.push_back(
          std::make_unique<Gate>(htonl(INADDR_LOOPBACK), topology(machine, machines), kSecret));
      addresses.push_back(gates.back()->address());
    }
  }
  /// All of them, each on a thread.
  std::vector<std::vector<base::Descriptor>> meet() {
    std::vector<std::vector<base::Descriptor>> met(gates.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < gates.size(); ++i) {
      threads.emplace_back([&, i] { met[i] = gates[i]->meet(addresses, Clock::now() + 30s); });
    }
    for (std::thread& thread : threads) thread.join();
    return met;
  }

  std::vector<std::unique_ptr<Gate>> gates;
  std::vector<Address> addresses;
};

/// A connection to that address, as anybody could make it.
base::Descriptor call(const Address& address) {
  base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in there{
      .sin_family = AF_INET, .sin_port = address.port, .sin_addr = {address.host}};
  EXPECT_EQ(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  return socket;
}

void say(const base::Descriptor& socket, const std::string& text) {
  ::send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::string what_is_thrown(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "nothing";
}

TEST(Gate, MachinesMeetAndAreWhatTheySay) {
  Gates gates(4);
  for (int meeting = 0; meeting < 3; ++meeting) {
    auto met = gates.meet();
    for (int one = 0; one < 4; ++one) {
      for (int other = 0; other < 4; ++other) {
        if (one == other) {
          EXPECT_FALSE(met[one][other].open());
          continue;
        }
        const char sent = char('a' + 4 * one + other);
        char got = 0;
        say(met[one][other], std::string(1, sent));
        timeval patience{.tv_sec = 10};
        ::setsockopt(met[other][one].number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        // Not waiting sockets: ask until it is there.
        while (::recv(met[other][one].number(), &got, 1, 0) < 0 && errno == EAGAIN) {
          std::this_thread::yield();
        }
        EXPECT_EQ(got, sent);
      }
    }
  }
}

TEST(Gate, WhatDoesNotBelongNeitherGetsInNorIsInTheWay) {
  Gates gates(2);
  std::vector<base::Descriptor> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(call(gates.addresses[0]));
  const base::Descriptor garbage = call(gates.addresses[0]);
  say(garbage, "GET / HTTP/1.1\r\n" + std::string(100'000, 'x'));
  const auto met = gates.meet();
  EXPECT_TRUE(met[0][1].open());
  EXPECT_TRUE(met[1][0].open());
}

TEST(Gate, AMeetingThatFailsNamesTheMissingAndCountsWhoWasTurnedAway) {
  Gates gates(3);
  const base::Descriptor garbage = call(gates.addresses[0]);
  say(garbage, std::string(100, 'x'));
  { const base::Descriptor closed = call(gates.addresses[0]); }
  const base::Descriptor other_job = call(gates.addresses[0]);
  Handshake handshake = Handshake::caller(
      sha256({kSecret}), {.protocol = fabric::kProtocol, .subject = 0, .from = 1, .to = 0});
  // The first part, and a proof that is none.
  say(other_job, std::string(reinterpret_cast<const char*>(handshake.to_send().data()),
                             handshake.to_send().size()) +
                     std::string(sizeof(Digest), 'x'));
  const std::string said =
      what_is_thrown([&] { gates.gates[0]->meet(gates.addresses, Clock::now() + 500ms); });
  EXPECT_NE(said.find("timeout: machine host0 waited in vain at 127.0.0.1:"), std::string::npos);
  EXPECT_NE(said.find("host1, host2 did not come (3 connections were turned away: 1 spoke "
                      "another language, 1 without the job's secret, 1 closed before the end)"),
            std::string::npos)
      << said;
}

TEST(Gate, AMachineOfAnotherVersionIsTold) {
  Gates gates(2);
  std::thread other([&] {
    const base::Descriptor socket = begin_call(gates.addresses[0]);
    Handshake handshake = Handshake::caller(
        kSecret, {.protocol = fabric::kProtocol + 1, .subject = 0, .from = 1, .to = 0});
    const auto until = Clock::now() + 10s;
    while (handshake.state() != Handshake::State::refused && Clock::now() < until) {
      if (!advance(socket.number(), handshake)) break;
      std::this_thread::yield();
    }
    EXPECT_EQ(handshake.refusal(), Handshake::Refusal::version);
  });
  const std::string said =
      what_is_thrown([&] { gates.gates[0]->meet(gates.addresses, Clock::now() + 500ms); });
  other.join();
  EXPECT_NE(said.find("1 of another version (protocol " + std::to_string(fabric::kProtocol + 1)),
            std::string::npos)
      << said;
}

/// A port that is free, for the moment.
int free_port() { return ntohs(address_of(listen_at({htonl(INADDR_LOOPBACK), 0}).number()).port); }

StorePlace place(int rank, int size, int port) {
  return {.host = "localhost",
          .port = port,
          .rank = rank,
          .size = size,
          .one_host = true,
          .job = "a test"};
}

TEST(Store, GivesEveryRankWhatAnyHasSet) {
  constexpr int kSize = 5;
  const int port = free_port();
  std::vector<std::thread> ranks;
  for (int rank = kSize - 1; rank >= 0; --rank) {
    ranks.emplace_back([&, rank] {
      const auto store = make_store(place(rank, kSize, port));
      store->set("of/" + std::to_string(rank), std::string(rank * 300'000, char('a' + rank)));
      for (int other = 0; other < kSize; ++other) {
        EXPECT_EQ(store->get("of/" + std::to_string(other), 30s),
                  std::string(other * 300'000, char('a' + other)));
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(Store, OneAfterTheOtherAtOnePortDoNotMix) {
  constexpr int kSize = 3;
  const int port = free_port();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kSize; ++rank) {
    ranks.emplace_back([&, rank] {
      for (int time = 0; time < 10; ++time) {
        const auto store = make_store(place(rank, kSize, port));
        if (rank == time % kSize) store->set("time", std::to_string(time));
        EXPECT_EQ(store->get("time", 30s), std::to_string(time));
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(Store, WhatDoesNotBelongIsTurnedAway) {
  const int port = free_port();
  const auto keeper = make_store(place(0, 2, port));
  keeper->set("key", "value");
  const Address address{htonl(INADDR_LOOPBACK), htons(std::uint16_t(port))};
  std::vector<base::Descriptor> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(call(address));
  const base::Descriptor garbage = call(address);
  say(garbage, std::string(1000, 'x'));
  StorePlace elsewhere = place(1, 2, port);
  elsewhere.job = "another";
  EXPECT_NE(what_is_thrown([&] {
              make_store(elsewhere)->get("key", 300ms);
            }).find("timeout: rank 1 waited in vain for rank 0 at localhost:"),
            std::string::npos);
  EXPECT_EQ(make_store(place(1, 2, port))->get("key", 30s), "value");
  EXPECT_NE(what_is_thrown([&] { keeper->get("other", 100ms); }).find("spoke another language"),
            std::string::npos);
}

TEST(Store, ARankZeroThatIsNotThereIsNamed) {
  const auto store = make_store(place(1, 2, free_port()));
  EXPECT_NE(what_is_thrown([&] {
              store->get("key", 200ms);
            }).find("timeout: rank 1 waited in vain for rank 0 at localhost:"),
            std::string::npos);
}

TEST(Store, WordsThatMakeNoSenseAreNotRead) {
  WordsReader reader;
  const WordsHead long_key{.kind = 0, .key = kLongestKey + 1, .value = 0};
  EXPECT_FALSE(reader.take(reinterpret_cast<const char*>(&long_key), sizeof long_key));
  WordsReader other;
  const WordsHead odd{.kind = 3, .key = 1, .value = 1};
  EXPECT_FALSE(other.take(reinterpret_cast<const char*>(&odd), sizeof odd));
}

}  // namespace
}  // namespace syncopate::testing

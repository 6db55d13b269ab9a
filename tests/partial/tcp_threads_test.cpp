// Machines that are threads of one process, with connections over the loopback between them: agents
// sleep and are woken by the watch, and the thread sanitizer sees all of it.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "base/bad_message.h"
#include "fabric/machine_lost.h"
#include "fabric/tcp/fabric.h"
#include "fabric/tcp/frame.h"
#include "fabric/tcp/sockets.h"
#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace fabric::tcp;

using Fabrics = std::vector<std::unique_ptr<fabric::Fabric>>;

/// Both ends of a connection over the loopback.
std::pair<base::Descriptor, base::Descriptor> connected() {
  const base::Descriptor listener = listen_at({htonl(INADDR_LOOPBACK), 0});
  base::Descriptor one = begin_call(address_of(listener.number())), other;
  while (!other.open()) other = accept_one(listener.number());
  prepare_connection(one.number());
  prepare_connection(other.number());
  return {std::move(one), std::move(other)};
}

std::vector<std::shared_ptr<Hub>> hubs(int machines) {
  std::vector<std::vector<base::Descriptor>> ends(machines);
  for (auto& of_one : ends) of_one.resize(machines);
  for (int one = 0; one < machines; ++one) {
    for (int other = 0; other < one; ++other) {
      std::tie(ends[one][other], ends[other][one]) = connected();
    }
  }
  std::vector<std::shared_ptr<Hub>> result;
  for (int machine = 0; machine < machines; ++machine) {
    result.push_back(std::make_shared<Hub>(machine, std::move(ends[machine])));
  }
  return result;
}

Fabrics tcp_fabrics(int machines) {
  Fabrics result;
  for (auto& hub : hubs(machines)) result.push_back(std::make_unique<TcpFabric>(std::move(hub)));
  return result;
}

/// Short enough to be gathered, for parts in one frame, and for parts in pieces.
class TcpMachines : public ::testing::TestWithParam<std::size_t> {};

TEST_P(TcpMachines, SumUpWhatTheirRanksBring) {
  const std::size_t elements = GetParam();
  on_threads(machines_of_threads({2, 1, 2}, true, tcp_fabrics(3)), [&](World& world) {
    Allreduce<float> sums(world, elements);
    for (int step = 1; step <= 30; ++step) {
      std::fill_n(sums.slot(), elements, float(world.rank() + step));
      for (const auto& round : sums.exchange()) {
        EXPECT_EQ(round.sum()[0], float(10 + 5 * step));
        EXPECT_EQ(round.sum()[elements - 1], float(10 + 5 * step));
      }
    }
    world.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(, TcpMachines, ::testing::Values(1, 3'000, 200'000));

/// What a hub makes of a machine whose end of the connection is `theirs`.
std::string heard_of(const std::function<void(base::Descriptor& theirs)>& act) {
  auto [mine, theirs] = connected();
  std::vector<base::Descriptor> ends(2);
  ends[1] = std::move(mine);
  Hub hub(0, std::move(ends));
  act(theirs);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<std::byte> message;
  try {
    while (std::chrono::steady_clock::now() < deadline) {
      if (hub.receive(message) == 1) return "a message";
    }
  } catch (const fabric::MachineLost& lost) {
    return "machine " + std::to_string(lost.machine()) + " " + lost.what();
  } catch (const BadMessage& said) {
    return "machine " + std::to_string(said.machine()) + ": its message " + said.what();
  }
  return "nothing";
}

void say(const base::Descriptor& socket, const Head& head) {
  ::send(socket.number(), head.data(), head.size(), MSG_NOSIGNAL);
}

TEST(TcpMachine, ThatGoesWithoutAWordIsNamed) {
  EXPECT_EQ(heard_of([](base::Descriptor& theirs) { theirs.close(); }),
            "machine 1 has gone without a word");
}

TEST(TcpMachine, IsHeardToTheEndBeforeItIsMissed) {
  EXPECT_EQ(heard_of([](base::Descriptor& theirs) {
              say(theirs, pack(Frame{.kind = Frame::Kind::message}));
              theirs.close();
            }),
            "a message");
}

TEST(TcpMachine, ThatMakesNoSenseIsNamed) {
  EXPECT_EQ(heard_of([](base::Descriptor& theirs) {
              say(theirs, pack(Frame{.kind = Frame::Kind::message, .length = 1 << 30}));
            }),
            "machine 1: its message has 1073741824 for the length of a frame");
}

}  // namespace
}  // namespace syncopate::testing

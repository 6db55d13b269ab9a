// Messages between agents: each arrives once, and in order from each machine.
#include <cstring>
#include <span>
#include <thread>

#include "fabric/company.h"

namespace syncopate::testing {
namespace {

struct Letter {
  int from = 0;
  int number = 0;
};

void send(fabric::Fabric& fabric, int to, const Letter& letter) {
  fabric.send(to, std::as_bytes(std::span(&letter, 1)));
}

/// What comes first; its sender is checked.
Letter receive(fabric::Fabric& fabric) {
  std::vector<std::byte> message;
  const int from = next_message(fabric, message);
  Letter letter;
  EXPECT_EQ(message.size(), sizeof letter);
  std::memcpy(&letter, message.data(), std::min(message.size(), sizeof letter));
  EXPECT_EQ(letter.from, from);
  return letter;
}

/// Between tests: nothing of the next may come before the last of this one was taken.
void meet(fabric::Fabric& fabric) {
  const auto channel = open(fabric);
  float one = 1;
  wait_for(*channel->reduce(&one, &one, 1, DataType::float32, fabric::Combine::sum));
  ASSERT_EQ(one, machines());
}

TEST(Messages, GoRoundTheRing) {
  AGENTS_ONLY(fabric);
  const int next = (machine() + 1) % machines();
  if (machine() == 0) send(fabric, next, {0, 0});
  for (int turn = 0; turn < 20; ++turn) {
    const Letter letter = receive(fabric);
    EXPECT_EQ(letter.number, turn * machines() + (machine() + machines() - 1) % machines());
    if (machine() == 0 && turn == 19) break;
    send(fabric, next, {machine(), letter.number + 1});
  }
  meet(fabric);
}

TEST(Messages, ArriveOnceAndInOrderFromEachMachine) {
  AGENTS_ONLY(fabric);
  constexpr int each = 500;
  std::vector<int> expected(machines(), 0);
  int missing = each * machines();
  std::vector<std::byte> message;
  for (int number = 0; number < each; ++number) {
    for (int to = 0; to < machines(); ++to) send(fabric, to, {machine(), number});
  }
  for (; missing > 0; --missing) {
    const Letter letter = receive(fabric);
    EXPECT_EQ(letter.number, expected[letter.from]++);
  }
  meet(fabric);
  EXPECT_EQ(fabric.receive(message), -1);
  meet(fabric);
}

TEST(Messages, OfAllLengthsKeepTheirOrder) {
  AGENTS_ONLY(fabric);
  const std::vector<std::size_t> lengths = {0, 1, fabric::Fabric::kLongestMessage, 3, 5000, 0, 70};
  const int next = (machine() + 1) % machines();
  for (const std::size_t length : lengths) {
    fabric.send(next, std::vector<std::byte>(length, static_cast<std::byte>(length % 251)));
  }
  for (const std::size_t length : lengths) {
    std::vector<std::byte> message;
    EXPECT_EQ(next_message(fabric, message), (machine() + machines() - 1) % machines());
    EXPECT_EQ(message, std::vector<std::byte>(length, static_cast<std::byte>(length % 251)));
  }
  meet(fabric);
}

TEST(Messages, TooLongAreRefused) {
  AGENTS_ONLY(fabric);
  const std::vector<std::byte> message(fabric::Fabric::kLongestMessage + 1);
  EXPECT_THROW(fabric.send(0, message), std::runtime_error);
}

TEST(Messages, AreTakenByAnotherThread) {
  AGENTS_ONLY(fabric);
  std::thread agent([&fabric] {
    for (int to = 0; to < machines(); ++to) send(fabric, to, {machine(), 1});
    for (int count = 0; count < machines(); ++count) EXPECT_EQ(receive(fabric).number, 1);
  });
  agent.join();
  meet(fabric);
}

// The machine that goes first still gets its last messages through.
TEST(Messages, ArriveThoughTheirSenderGoes) {
  std::unique_ptr<fabric::Fabric> own = company().fabric();
  if (own == nullptr) return;
  constexpr int count = 50;
  const std::vector<std::byte> message(fabric::Fabric::kLongestMessage, std::byte{7});
  if (machine() != 0) {
    for (int number = 0; number < count; ++number) own->send(0, message);
  } else {
    std::vector<std::byte> got;
    for (int number = 0; number < count * (machines() - 1); ++number) {
      next_message(*own, got);
      EXPECT_EQ(got, message);
    }
  }
}

}  // namespace
}  // namespace syncopate::testing

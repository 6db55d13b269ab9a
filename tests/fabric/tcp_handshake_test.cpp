// Who gets in: both ends know the secret, and are what the other takes them for.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fabric/tcp/handshake.h"

namespace syncopate::testing {
namespace {

using namespace fabric::tcp;
using State = Handshake::State;
using Refusal = Handshake::Refusal;

const Digest kSecret = sha256({});
constexpr std::uint32_t kVersion = 7;

Hello hello(int from, int to, std::uint32_t protocol = kVersion) {
  return {.protocol = protocol, .subject = 3, .from = from, .to = to};
}

/// What one end says, in parts of so many bytes, for the other to hear; returns all of it.
std::vector<std::byte> pass(Handshake& from, Handshake& to, std::size_t part = 1000) {
  std::vector<std::byte> said;
  while (!from.to_send().empty() && !to.to_receive().empty()) {
    const auto room = to.to_receive();
    const std::size_t bytes = std::min({part, room.size(), from.to_send().size()});
    std::ranges::copy(from.to_send().first(bytes), room.begin());
    said.insert(said.end(), room.begin(), room.begin() + std::ptrdiff_t(bytes));
    from.note_sent(bytes);
    to.note_received(bytes);
  }
  return said;
}

void hear(Handshake& end, const std::vector<std::byte>& bytes) {
  for (const std::byte byte : bytes) {
    if (end.to_receive().empty()) return;
    end.to_receive()[0] = byte;
    end.note_received(1);
  }
}

TEST(Handshake, LetsInTwoEndsThatKnowTheSecret) {
  for (const std::size_t part : {1, 7, 56, 88, 1000}) {
    Handshake caller = Handshake::caller(kSecret, hello(1, 0));
    Handshake answerer = Handshake::answerer(kSecret, hello(0, -1));
    pass(caller, answerer, part);
    EXPECT_EQ(answerer.state(), State::proof);
    pass(answerer, caller, part);
    EXPECT_EQ(caller.state(), State::done);
    EXPECT_FALSE(caller.complete());
    pass(caller, answerer, part);
    EXPECT_TRUE(caller.complete());
    EXPECT_TRUE(answerer.complete());
    EXPECT_EQ(answerer.theirs().from, 1);
    EXPECT_EQ(answerer.theirs().subject, 3U);
  }
}

TEST(Handshake, RefusesAnEndWithoutTheSecretOnBothSides) {
  Digest other = kSecret;
  other[31] ^= std::byte{1};
  Handshake caller = Handshake::caller(kSecret, hello(1, 0));
  Handshake answerer = Handshake::answerer(other, hello(0, -1));
  pass(caller, answerer);
  pass(answerer, caller);
  EXPECT_EQ(caller.refusal(), Refusal::secret);
  EXPECT_TRUE(caller.to_receive().empty());
  // A caller that guesses its proof.
  hear(answerer, std::vector<std::byte>(sizeof(Digest), std::byte{7}));
  EXPECT_EQ(answerer.refusal(), Refusal::secret);
}

TEST(Handshake, WhatWasOverheardProvesNothingASecondTime) {
  Handshake caller = Handshake::caller(kSecret, hello(1, 0));
  Handshake answerer = Handshake::answerer(kSecret, hello(0, -1));
  std::vector<std::byte> said = pass(caller, answerer);
  pass(answerer, caller);
  const std::vector<std::byte> proof = pass(caller, answerer);
  ASSERT_TRUE(answerer.complete());
  said.insert(said.end(), proof.begin(), proof.end());
  Handshake again = Handshake::answerer(kSecret, hello(0, -1));
  hear(again, said);
  EXPECT_EQ(again.refusal(), Refusal::secret);
}

TEST(Handshake, ItsOwnProofComesToNothing) {
  // A stranger answers a caller with what the caller says to it on another connection.
  Handshake caller = Handshake::caller(kSecret, hello(1, 0));
  Handshake other = Handshake::answerer(kSecret, hello(1, -1));
  std::vector<std::byte> hello_said(caller.to_send().begin(), caller.to_send().end());
  hear(other, hello_said);
  hear(caller, {other.to_send().begin(), other.to_send().end()});
  EXPECT_EQ(caller.state(), State::refused);
}

TEST(Handshake, AnotherVersionIsToldApartByBothEnds) {
  Handshake caller = Handshake::caller(kSecret, hello(1, 0, kVersion + 1));
  Handshake answerer = Handshake::answerer(kSecret, hello(0, -1));
  pass(caller, answerer);
  pass(answerer, caller);
  EXPECT_EQ(answerer.refusal(), Refusal::version);
  EXPECT_EQ(answerer.theirs().protocol, kVersion + 1);
  EXPECT_EQ(caller.refusal(), Refusal::version);
  EXPECT_EQ(caller.theirs().protocol, kVersion);
}

TEST(Handshake, AStrangerIsNotAnswered) {
  Handshake answerer = Handshake::answerer(kSecret, hello(0, -1));
  hear(answerer, std::vector<std::byte>(100, std::byte{'G'}));
  EXPECT_EQ(answerer.refusal(), Refusal::stranger);
  EXPECT_TRUE(answerer.to_send().empty());
}

TEST(Handshake, AMachineOtherThanTheOneThatIsCalledIsRefused) {
  Handshake caller = Handshake::caller(kSecret, hello(2, 0));
  Handshake answerer = Handshake::answerer(kSecret, hello(1, -1));
  pass(caller, answerer);
  pass(answerer, caller);
  EXPECT_EQ(caller.refusal(), Refusal::secret);
}

}  // namespace
}  // namespace syncopate::testing

// Bytes that come over a connection of the TCP fabric, after the handshake and before it, and what
// ranks find at a rendezvous. No byte may be written where no operation waits for it.
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fabric/machine_lost.h"
#include "fabric/tcp/cards.h"
#include "fabric/tcp/handshake.h"
#include "fabric/tcp/peer.h"
#include "fabric/tcp/store_words.h"
#include "fuzz/input.h"
#include "fuzz/refused.h"

namespace {

using namespace syncopate;
using namespace syncopate::fabric::tcp;

constexpr int kMachine = 1;
constexpr std::size_t kShort = 8, kLong = kShortValues + 8;

/// A connection whose other end says these bytes.
void connect(std::span<const std::byte> bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return;
  base::Descriptor other(ends[1]);
  const OpenChannels channels{.next = 3, .open = {1, 2}};
  Inbox inbox;
  std::vector<std::byte> staging(100);
  std::vector<std::byte> short_one(kShort), long_one(kLong);
  const auto wait_for = [](std::vector<std::byte>& into) {
    return std::make_shared<Transfer>(Transfer{.into = into.data(), .bytes = into.size()});
  };
  Peer peer(kMachine, base::Descriptor(ends[0]), channels, inbox, staging);
  const auto first = wait_for(short_one), second = wait_for(long_one);
  peer.receive({.channel = 1, .tag = 0}, first);
  peer.receive({.channel = 1, .tag = 1}, second);
  if (::send(other.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  try {
    peer.note_readable();
    peer.advance();
  } catch (const BadMessage& said) {
    if (said.machine() != kMachine) broken("what makes no sense is told of its sender");
  }
  if (first->moved > kShort || second->moved > kLong) broken("no more comes than is waited for");
  std::vector<std::byte> message;
  while (!inbox.empty()) {
    if (inbox.take(message) != kMachine) broken("a message is of its sender");
    if (message.size() > fabric::Fabric::kLongestMessage) broken("messages are short");
  }
}

void shake_hands(std::span<const std::byte> bytes, bool calls) {
  const Hello mine{.protocol = 7, .from = 0, .to = 1};
  Handshake handshake =
      calls ? Handshake::caller(Digest{}, mine) : Handshake::answerer(Digest{}, mine);
  for (const std::byte byte : bytes) {
    if (handshake.to_receive().empty()) break;
    handshake.to_receive()[0] = byte;
    handshake.note_received(1);
  }
  if (handshake.state() == Handshake::State::done) broken("a stranger cannot know the secret");
}

void read_words(std::span<const std::byte> bytes) {
  WordsReader reader;
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), reader.wanted());
    if (!reader.take(reinterpret_cast<const char*>(bytes.data()), part)) return;
    bytes = bytes.subspan(part);
    const auto words = reader.next();
    if (words && words->key.size() > kLongestKey) broken("keys are short");
  }
}

void read_table(const std::string& text) {
  taken([&] {
    const Table table = parse_table(text);
    if (table.cards.empty()) return;
    try {
      const fabric::Topology topology = topology_of(table, 0);
      if (topology.ranks() != int(table.cards.size())) broken("each card is of a rank");
      for (const int machine : topology.machine_of) {
        if (machine < 0 || machine >= topology.machines()) broken("each rank has a machine");
      }
    } catch (const std::runtime_error&) {
      // Of the split: plug-ins throw it as well.
    }
    from_hex(table.random);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const int which = input.below(5);
  const auto bytes = input.take_bytes(size);
  if (which == 0) connect(bytes);
  if (which == 1 || which == 2) shake_hands(bytes, which == 2);
  if (which == 3) read_words(bytes);
  if (which == 4) {
    read_table(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  return 0;
}

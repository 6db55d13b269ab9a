// What machines say to each other is the same bytes in every build of one protocol: two builds that
// differ must not meet under one number. The bytes of a message of each kind are kept in
// protocol.golden, with the number. After a change raise fabric::kProtocol, and then renew them:
//
//   SYNCOPATE_RENEW=1 build/release/bin/protocol_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "agent/messages.h"
#include "fabric/plugin.h"
#include "group/messages.h"
#include "partial/messages.h"
#include "world/collective_spec.h"
#include "world/messages.h"

namespace syncopate::testing {
namespace {

// Values with a different byte in each place, so that no two fields can change places unseen.
constexpr std::uint64_t kLong = 0x0102030405060708;
constexpr std::uint64_t kOther = 0x1112131415161718;
constexpr std::uint64_t kThird = 0x2122232425262728;
constexpr int kShort = 0x31323334;
constexpr int kOtherShort = 0x41424344;
constexpr int kRanks = 11;

class Golden {
 public:
  template <typename Bytes>
  void add(const char* name, int kind, const Bytes& bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text_ << name << " " << kind << " ";
    for (const std::byte byte : bytes) {
      text_ << kDigits[unsigned(byte) >> 4] << kDigits[unsigned(byte) & 15];
    }
    text_ << "\n";
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

void add_partial(Golden& golden) {
  for (int kind = 0; kind <= int(round::Message::Kind::missing); ++kind) {
    round::Message message;
    message.kind = round::Message::Kind(kind);
    message.round = kLong;
    message.span = kShort;
    message.root = kOtherShort;
    message.facts.here = RankSet(kRanks);
    message.facts.here.insert(2);
    message.facts.counting = RankSet(kRanks);
    message.facts.counting.insert(kRanks - 1);
    message.facts.waits = true;
    message.facts.seen = kOther;
    message.facts.slowest = 5;
    message.waited = true;
    message.drawn = kShort;
    message.ranks = RankSet(kRanks);
    message.ranks.insert(1);
    const round::Machines machines(std::vector<int>(kRanks, 0));
    golden.add("partial", kind, detail::pack(message, machines, 0));
  }
}

void add_group(Golden& golden) {
  for (int kind = 0; kind <= int(round::GroupMessage::Kind::all_missing); ++kind) {
    round::GroupMessage message;
    message.kind = round::GroupMessage::Kind(kind);
    message.round.step = kLong;
    message.round.group = kShort;
    message.member = kOtherShort;
    message.step = kOther;
    message.seen = kThird;
    message.staleness = ~kLong;
    message.ranks = {3, 7};
    golden.add("group", kind, group::pack(message));
  }
}

void add_agent(Golden& golden) {
  const std::vector<std::byte> rest{std::byte{0xa1}, std::byte{0xa2}};
  for (int kind = 0; kind <= int(agent::AgentMessage::Kind::way); ++kind) {
    agent::AgentMessage message;
    message.kind = agent::AgentMessage::Kind(kind);
    message.drowsy = true;
    message.task = kLong;
    message.number = kShort;
    message.asked = std::int64_t(kOther);
    message.told = std::int64_t(kThird);
    message.rest = rest;
    golden.add("agent", kind, pack(message));
  }
}

void add_world(Golden& golden) {
  for (int kind = 0; kind <= int(world::WorldMessage::Kind::spread); ++kind) {
    world::WorldMessage message;
    message.kind = world::WorldMessage::Kind(kind);
    message.number = kLong;
    message.span = kShort;
    message.ranks = {3, 7};
    golden.add("world", kind, pack(message));
  }
}

void add_specs(Golden& golden) {
  for (int kind = 1; kind <= int(world::CollectiveSpec::Kind::group); ++kind) {
    world::CollectiveSpec spec;
    spec.kind = world::CollectiveSpec::Kind(kind);
    spec.elements = kLong;
    golden.add("collective", kind, spec.pack());
  }
}

std::string kept() {
  std::ifstream file(SYNCOPATE_PROTOCOL_GOLDEN);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Protocol, HasAnotherNumberWhenItsBytesChange) {
  Golden golden;
  add_partial(golden);
  add_group(golden);
  add_agent(golden);
  add_world(golden);
  add_specs(golden);
  const std::string number = "protocol " + std::to_string(fabric::kProtocol) + "\n";
  const std::string before = kept();
  const bool same_number = before.starts_with(number);
  const bool same_bytes = before.substr(before.find('\n') + 1) == golden.text();
  if (same_number) {
    ASSERT_TRUE(same_bytes)
        << "messages between machines have changed: raise fabric::kProtocol, and then renew "
           "protocol.golden (SYNCOPATE_RENEW=1)\n"
        << golden.text();
    return;
  }
  if (std::getenv("SYNCOPATE_RENEW") != nullptr) {
    std::ofstream(SYNCOPATE_PROTOCOL_GOLDEN) << number << golden.text();
    return;
  }
  FAIL() << "fabric::kProtocol is " << fabric::kProtocol
         << ": renew protocol.golden (SYNCOPATE_RENEW=1)";
}

}  // namespace
}  // namespace syncopate::testing

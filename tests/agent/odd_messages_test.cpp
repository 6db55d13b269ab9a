// A machine that says what cannot be is lost, by name, on every machine, and nothing breaks: as a
// machine with another build would, or one whose memory is damaged.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "agent/messages.h"
#include "fabric/doorbell.h"
#include "fabric/packet.h"
#include "group/messages.h"
#include "partial/messages.h"
#include "partial/round_report.h"
#include "support/memory_fabric.h"
#include "support/odd_fabric.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"
#include "world/messages.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using agent::AgentMessage;
using detail::pack;
using fabric::Packer;
using group::pack;
using round::GroupMessage;
using round::Message;
using world::WorldMessage;
using Bytes = std::vector<std::byte>;

constexpr int kOdd = 1;  ///< The machine that says odd things, and its only rank.
/// The numbers of the tasks, in the order the ranks make them.
const round::Machines kMachines{0, 1};
constexpr std::uint64_t kWorld = 1, kPartial = 2, kGroup = 3;

/// Two machines of one rank, and the second says odd things.
std::vector<World> worlds(Oddity& oddity) {
  auto fabrics = memory_fabrics(2);
  fabrics[kOdd] = odd(std::move(fabrics[kOdd]), oddity);
  return machines_of_threads({1, 1}, false, std::move(fabrics));
}

/// What the ranks do together, until it cannot go on; the odd one begins to be odd after a while.
template <typename BeOdd>
void work(World& world, const BeOdd& be_odd) {
  const std::vector<float> one{1.0F};
  PartialAllreduce<float> rounds(world, 1, {.trigger = all()});
  GroupAverage<float> weights(world, one, {.group_size = 2, .synchronize_every = 3, .window = 3});
  for (int step = 0; step < 3'000; ++step) {
    if (step == 4 && world.rank() == kOdd) be_odd();
    rounds.exchange(one).pass();
    weights.average();
    world.barrier();
  }
}

template <typename BeOdd>
void expect_lost(const BeOdd& be_odd) {
  Oddity oddity;
  on_threads(worlds(oddity), [&](World& world) {
    expect_refused(ErrorCode::machine_lost, {"machine host1 (rank 1)", "makes no sense"},
                   [&] { work(world, [&] { be_odd(oddity); }); });
  });
}

struct Case {
  std::string name;
  std::vector<Bytes> messages;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class OddMessage : public ::testing::TestWithParam<Case> {};

TEST_P(OddMessage, LosesTheMachineThatSentIt) {
  expect_lost([](Oddity& oddity) {
    for (const Bytes& message : GetParam().messages) oddity.say(0, message);
  });
}

Bytes for_task(std::uint64_t task, const Bytes& message) {
  return pack(AgentMessage{.kind = AgentMessage::Kind::task, .task = task, .rest = message});
}
Case agent(const std::string& name, const Bytes& message) { return {"Agent" + name, {message}}; }
Case partial(const std::string& name, const Bytes& message) {
  return {"Partial" + name, {for_task(kPartial, message)}};
}
Case partial(const std::string& name, const Message& message) {
  return partial(name, pack(message, kMachines, 1));
}
Case group(const std::string& name, const GroupMessage& message) {
  return {"Group" + name, {for_task(kGroup, pack(message))}};
}
Bytes without_end(Bytes bytes) {
  bytes.pop_back();
  return bytes;
}
Bytes with(Bytes bytes, std::size_t at, int value) {
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}
Bytes longer(Bytes bytes) {
  bytes.push_back(std::byte{0});
  return bytes;
}

constexpr std::uint64_t kFar = std::numeric_limits<std::uint64_t>::max();

/// The message, with something changed.
template <typename Message, typename Change>
Message changed(Message message, const Change& change) {
  change(message);
  return message;
}

std::vector<Case> agent_cases() {
  using Kind = AgentMessage::Kind;
  Packer many_addresses;
  many_addresses.put(std::uint64_t{1}).put(std::uint64_t{2});
  for (int i = 0; i <= fabric::Doorbell::kMostWays; ++i) {
    many_addresses.put(std::uint32_t{0x0100007f}).put(std::uint16_t{9});
  }
  return {
      agent("Nothing", {}),
      agent("OneByte", {std::byte{1}}),
      agent("UnknownKind", with(pack(AgentMessage{}), 0, 7)),
      agent("OddFlag", with(pack(AgentMessage{}), 1, 2)),
      agent("PingPassedOnForEver", pack(AgentMessage{.kind = Kind::ping, .number = 65})),
      agent("LongPing", longer(pack(AgentMessage{}))),
      agent("DeadRankThatIsNot", pack(AgentMessage{.kind = Kind::dead, .number = 2})),
      agent("DeadRankBelowAll", pack(AgentMessage{.kind = Kind::dead, .number = -1})),
      agent("DeadRankFarAway", pack(AgentMessage{.kind = Kind::dead, .number = 1 << 30})),
      agent("DeadRankOfAnotherMachine", pack(AgentMessage{.kind = Kind::dead, .number = 0})),
      agent("UnknownWay",
            pack(AgentMessage{.kind = Kind::way, .number = fabric::Doorbell::kMostWays})),
      agent("NegativeWay", pack(AgentMessage{.kind = Kind::way, .number = -1})),
      agent("ShortBell", pack(AgentMessage{.kind = Kind::bell, .rest = Bytes(9)})),
      agent("ManyBells", pack(AgentMessage{.kind = Kind::bell, .rest = many_addresses.bytes()})),
      agent("UnknownTask", for_task(6, {})),
      agent("TaskFarAway", for_task(kFar, {}))};
}

std::vector<Case> partial_cases() {
  const Message start{.kind = Message::Kind::start, .round = 5, .span = 1, .root = 1};
  const Message facts{.kind = Message::Kind::facts,
                      .round = 5,
                      .facts = {.here = RankSet(1), .counting = RankSet(1), .seen = 4}};
  return {partial("Empty", Bytes{}),
          partial("UnknownKind", with(pack(start, kMachines, 1), 0, 200)),
          partial("Short", without_end(pack(start, kMachines, 1))),
          partial("Long", longer(pack(start, kMachines, 1))),
          partial("ShortFacts", without_end(pack(facts, kMachines, 1))),
          partial("OddFlag", with(pack(facts, kMachines, 1), 9, 2)),
          partial("FactsOfMoreRanks",
                  with(pack(facts, kMachines, 1), pack(facts, kMachines, 1).size() - 1, 2)),
          partial("RoundZero", changed(start, [](auto& m) { m.round = 0; })),
          partial("RoundFarAhead", changed(start, [](auto& m) { m.round = 1000; })),
          partial("RoundAtTheEndOfAll", changed(start, [](auto& m) { m.round = kFar; })),
          partial("SpanZero", changed(start, [](auto& m) { m.span = 0; })),
          partial("SpanTooLarge", changed(start, [](auto& m) { m.span = 3; })),
          partial("SpanHuge", changed(start, [](auto& m) { m.span = INT32_MAX; })),
          partial("SpanNegative", changed(start, [](auto& m) { m.span = INT32_MIN; })),
          partial("RootTooLarge", changed(start, [](auto& m) { m.root = 2; })),
          partial("RootNegative", changed(start, [](auto& m) { m.root = -1; })),
          partial("SlowestTooLarge", changed(facts, [](auto& m) { m.facts.slowest = 1; })),
          partial("SlowestNegative", changed(facts, [](auto& m) { m.facts.slowest = -2; })),
          partial("SeenTheFuture", changed(facts, [](auto& m) { m.facts.seen = 5; })),
          partial("SeenTheEndOfAll", changed(facts, [](auto& m) { m.facts.seen = kFar; }))};
}

std::vector<Case> group_cases() {
  const GroupMessage share{.kind = GroupMessage::Kind::share,
                           .round = {.step = 7, .group = 0},
                           .member = 1,
                           .ranks = {1}};
  const auto other_share = [&](const auto& change) { return changed(share, change); };
  return {
      {"GroupShort", {for_task(kGroup, without_end(pack(share)))}},
      {"GroupEmpty", {for_task(kGroup, {})}},
      {"GroupUnknownKind", {for_task(kGroup, with(pack(share), 0, 200))}},
      group("StepZero", other_share([](auto& m) { m.round.step = 0; })),
      group("StepFarAhead", other_share([](auto& m) { m.round.step = 1000; })),
      group("StepAtTheEndOfAll", other_share([](auto& m) { m.round.step = kFar; })),
      group("StepOfAll", other_share([](auto& m) { m.round.step = 6; })),
      group("StepThatIsOver", other_share([](auto& m) { m.round.step = 1; })),
      group("MemberNegative", other_share([](auto& m) { m.member = -1; })),
      group("MemberTooLarge", other_share([](auto& m) { m.member = 2; })),
      group("MemberOfAnotherMachine", other_share([](auto& m) { m.member = 0; })),
      group("UnknownGroup", other_share([](auto& m) { m.round.group = 1; })),
      group("RankTooLarge", other_share([](auto& m) { m.ranks = {2}; })),
      group("RankNegative", other_share([](auto& m) { m.ranks = {-1}; })),
      group("RankOfAnotherMachine", other_share([](auto& m) { m.ranks = {0}; })),
      group("RankTwice", other_share([](auto& m) {
              m.ranks = {1, 1};
            })),
      group("StaleFromBeforeTheFirst", other_share([](auto& m) { m.staleness = 8; })),
      group("SeenTheEndOfAll", other_share([](auto& m) { m.seen = kFar; })),
      group("HereOfAnotherMachine", other_share([](auto& m) {
              m.kind = GroupMessage::Kind::here;
              m.member = 0;
            })),
      group("WhoOfNobody", {.kind = GroupMessage::Kind::who, .round = {.step = 5}, .member = 99}),
      group("MissingOfAnotherMachine", {.kind = GroupMessage::Kind::missing, .ranks = {0}}),
      group("AskForTheEndOfAll", {.kind = GroupMessage::Kind::ask, .step = kFar}),
      {"GroupShareTwice", {for_task(kGroup, pack(share)), for_task(kGroup, pack(share))}}};
}

std::vector<Case> world_cases() {
  std::vector<Case> all{
      {"WorldUnknownKind", {for_task(kWorld, with(pack(WorldMessage{}), 0, 200))}},
      {"WorldLongQuestion", {for_task(kWorld, longer(pack(WorldMessage{})))}}};
  for (const std::vector<int>& ranks :
       {std::vector{0}, std::vector{2}, std::vector{-1}, std::vector{1, 1}}) {
    const std::string name = "WorldMissing" + std::to_string(all.size());
    const WorldMessage missing{.kind = WorldMessage::Kind::missing, .number = 9, .ranks = ranks};
    all.push_back({name, {for_task(kWorld, pack(missing))}});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Agent, OddMessage, ::testing::ValuesIn(agent_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Partial, OddMessage, ::testing::ValuesIn(partial_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Group, OddMessage, ::testing::ValuesIn(group_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(World, OddMessage, ::testing::ValuesIn(world_cases()),
                         [](const auto& test) { return test.param.name; });

/// What a machine says with its part of a round, changed.
class OddLine : public ::testing::TestWithParam<int> {
 protected:
  using MachineReport = detail::RoundReports::MachineReport;
  static constexpr std::size_t kBytes = sizeof(MachineReport) + detail::RoundReports::sets * 8 + 4;

  static void expect_line_lost(const std::function<void(MachineReport&)>& spoil) {
    expect_lost([&](Oddity& oddity) {
      oddity.change([&](std::span<std::byte> brought) {
        if (brought.size() != kBytes) return;
        MachineReport line;
        std::memcpy(&line, brought.data(), sizeof line);
        spoil(line);
        std::memcpy(brought.data(), &line, sizeof line);
      });
    });
  }
};

TEST_F(OddLine, LosesTheMachineThatSaidIt) {
  const std::vector<std::function<void(MachineReport&)>> spoilt{
      [](MachineReport& line) { line.newest = 2; },
      [](MachineReport& line) { line.newest = 0; },
      [](MachineReport& line) { line.newest = -2; },
      [](MachineReport& line) { line.slowest = 1; },
      [](MachineReport& line) { line.slowest = INT32_MIN; },
      [](MachineReport& line) { line.held_up_by = 2; },
      [](MachineReport& line) { line.held_up_by = -2; },
      [](MachineReport& line) { line.contributors = 2; },
      [](MachineReport& line) { line.contributors = -1; },
      [](MachineReport& line) { line.weight = -1; },
      [](MachineReport& line) { line.weight = 1e30; },
      [](MachineReport& line) { line.weight = std::numeric_limits<double>::infinity(); },
      [](MachineReport& line) { line.weight = std::numeric_limits<double>::quiet_NaN(); },
      [](MachineReport& line) { line.seen = 1'000'000; },
      [](MachineReport& line) { line.staleness = 1'000'000; },
      [](MachineReport& line) { line.step_time = -1; },
  };
  for (std::size_t i = 0; i < spoilt.size(); ++i) {
    SCOPED_TRACE(i);
    expect_line_lost(spoilt[i]);
  }
}

TEST_F(OddLine, WithRanksThatAreNotThereLosesTheMachine) {
  for (int set = 0; set < detail::RoundReports::sets; ++set) {
    expect_lost([&](Oddity& oddity) {
      oddity.change([set](std::span<std::byte> brought) {
        if (brought.size() == kBytes) brought[sizeof(MachineReport) + set * 8] |= std::byte{2};
      });
    });
  }
}

/// Bytes of lines of all kinds, changed at random: those of the world and of groups, too. Values
/// may be taken as they are; all else is refused, or the ranks wait until they give up.
TEST_P(OddLine, NeverBreaksAnything) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  Oddity oddity;
  on_threads(worlds(oddity), [&](World& world) {
    world.set_timeout(1s);
    int left = 200;
    try {
      const std::vector<float> one{1.0F};
      PartialAllreduce<float> rounds(world, 1, {.trigger = all()});
      GroupAverage<float> weights(world, one, {.group_size = 2, .synchronize_every = 2});
      world.barrier();
      if (world.rank() == kOdd) {
        oddity.change([&](std::span<std::byte> brought) {
          for (int flips = static_cast<int>(random() % 3); flips > 0 && !brought.empty(); --flips) {
            brought[random() % brought.size()] ^= static_cast<std::byte>(random());
          }
        });
      }
      for (; left > 0; --left) {
        rounds.exchange(one).pass();
        weights.average();
        world.barrier();
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::machine_lost || error.code() == ErrorCode::timeout ||
                  error.code() == ErrorCode::mismatch)
          << to_string(error.code()) << ": " << error.what();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, OddLine, ::testing::Range(0, 40));

}  // namespace
}  // namespace syncopate::testing

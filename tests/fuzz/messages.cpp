// What other machines say to the agreements on rounds and groups: as bytes, and as messages whose
// numbers are almost right, in any order.
#include "agent/messages.h"

#include <vector>

#include "fuzz/input.h"
#include "fuzz/refused.h"
#include "group/messages.h"
#include "partial/messages.h"
#include "world/collective_spec.h"
#include "world/messages.h"

namespace {

using namespace syncopate;
using round::Agreement;
using round::Facts;
using round::GroupAgreement;
using round::GroupFacts;
using round::GroupMessage;
using round::Message;

fabric::Topology topology_of(Input& input) {
  static const std::vector<std::vector<int>> kWorlds{
      {0, 1}, {0, 0, 1}, {0, 1, 2, 0, 1, 2}, {0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 1, 1, 1, 1, 2}};
  fabric::Topology topology{.machine_of = kWorlds[input.below(static_cast<int>(kWorlds.size()))]};
  int machines = 0;
  for (const int machine : topology.machine_of) machines = std::max(machines, machine + 1);
  topology.addresses.assign(machines, "host");
  return topology;
}

int ranks_of(const fabric::Topology& topology, int machine) {
  return static_cast<int>(
      std::count(topology.machine_of.begin(), topology.machine_of.end(), machine));
}

RankSet some_of(Input& input, int ranks) {
  RankSet result(ranks);
  const auto bits = input.take<std::uint8_t>();
  for (int rank = 0; rank < ranks; ++rank) {
    if ((bits >> (rank % 8) & 1) != 0) result.insert(rank);
  }
  return result;
}

/// What the agreement sends goes to another machine, and would be taken there.
void expect_sent_well(Agreement& agreement, const fabric::Topology& topology) {
  for (const auto& [to, message] : agreement.take_messages()) {
    if (to <= 0 || to >= topology.machines()) broken("messages go to other machines");
    const round::Machines machines(topology.machine_of);
    if (!sensible([&, &sent = message] {
          detail::unpack_message(detail::pack(sent, machines, 0), 0, machines);
        })) {
      broken("what is packed can be unpacked");
    }
  }
}

/// The agreement on rounds of machine 0, and what happens to it. Each function returns false where
/// the agent ends, as it was told what cannot be.
class RoundsPlay {
 public:
  explicit RoundsPlay(Input& input)
      : input_(input),
        topology_(topology_of(input)),
        agreement_(trigger_of(input), 1 + input.below(4), topology_.machine_of, 0) {}

  bool act(round::Time now) {
    const int from = 1 + input_.below(topology_.machines() - 1);
    switch (input_.below(4)) {
      case 0:
        agreement_.observe(own_facts(), Duration(input_.below(2) * 1000), now);
        return true;
      case 1:
        return sensible([&] {
          const auto bytes = input_.take_bytes(input_.below(40));
          agreement_.hear(from, detail::unpack_message(bytes, from, topology_.machine_of), now);
        });
      case 2: {
        const Message message = some_message(ranks_of(topology_, from));
        return sensible([&] { agreement_.hear(from, message, now); });
      }
      default:
        return !agreement_.started() || complete(now);
    }
  }
  void expect_well() {
    expect_sent_well(agreement_, topology_);
    for (const int rank : agreement_.missing().list()) {
      if (rank >= topology_.ranks()) broken("ranks that are missing are there");
    }
  }

 private:
  static Trigger trigger_of(Input& input) {
    const std::vector<Trigger> triggers{all(), first(), majority(), count(2)};
    return triggers[input.below(4)];
  }
  Facts own_facts() {
    const int ranks = ranks_of(topology_, 0);
    seen_ = std::min(agreement_.next() - 1, seen_ + input_.below(3));
    return {.here = some_of(input_, ranks),
            .counting = some_of(input_, ranks),
            .waits = input_.below(2) == 1,
            .seen = seen_,
            .slowest = 0};
  }
  Message some_message(int ranks) {
    return {.kind = static_cast<Message::Kind>(input_.below(4)),
            .round = input_.near(agreement_.next()),
            .span = input_.near(1),
            .root = input_.near(1),
            .waited = input_.below(2) == 1,
            .drawn = input_.near(0),
            .ranks = some_of(input_, topology_.ranks()),
            .facts = {.here = some_of(input_, ranks),
                      .counting = some_of(input_, ranks),
                      .waits = input_.below(2) == 1,
                      .seen = input_.near(agreement_.next() - 1)}};
  }
  bool complete(round::Time now) {
    std::vector<Facts> facts(topology_.machines());
    for (int machine = 0; machine < topology_.machines(); ++machine) {
      const int ranks = ranks_of(topology_, machine);
      facts[machine] = {.here = RankSet(ranks),
                        .counting = some_of(input_, ranks),
                        .seen = agreement_.next() - 1};
    }
    return sensible([&] { agreement_.complete(facts, now); });
  }

  Input& input_;
  fabric::Topology topology_;
  Agreement agreement_;
  std::uint64_t seen_ = 0;
};

void play_rounds(Input& input) {
  RoundsPlay play(input);
  for (round::Time now = 0; !input.empty(); now += 100'000) {
    if (!play.act(now)) return;
    play.expect_well();
  }
}

/// The same for groups.
class GroupsPlay {
 public:
  explicit GroupsPlay(Input& input)
      : input_(input),
        topology_(topology_of(input)),
        agreement_(options_of(input), topology_.machine_of, 0),
        own_(ranks_of(topology_, 0), {.counts = true}) {}

  bool act(round::Time now) {
    const int from = 1 + input_.below(topology_.machines() - 1);
    switch (input_.below(5)) {
      case 0:
        go_on(own_[input_.below(static_cast<int>(own_.size()))]);
        agreement_.observe(own_, now);
        return true;
      case 1:
        return sensible([&] {
          const auto bytes = input_.take_bytes(input_.below(64));
          agreement_.hear(from, group::unpack_group_message(bytes, from));
        });
      case 2: {
        const GroupMessage message = some_message();
        return sensible([&] { agreement_.hear(from, message); });
      }
      case 3:
        bring();
        return true;
      default:
        return !agreement_.global_due() || gather(from);
    }
  }
  void expect_well() {
    for (const auto& [to, message] : agreement_.take_messages()) {
      if (to <= 0 || to >= topology_.machines()) broken("messages go to other machines");
      if (!sensible([&, &sent = message] { group::unpack_group_message(group::pack(sent), 0); })) {
        broken("what is packed can be unpacked");
      }
    }
  }

 private:
  static GroupOptions options_of(Input& input) {
    return {.group_size = 1 + input.below(3),
            .synchronize_every = input.below(4),
            .rotate = input.below(2) == 1,
            .trigger = input.below(2) == 1 ? all() : first(),
            .grace = input.below(2) == 1 ? grace(Duration(1000)) : no_grace(),
            .window = 1 + input.below(3)};
  }
  void go_on(GroupFacts& rank) {
    if (rank.seen == rank.published) {
      ++rank.published;
    } else {
      rank.seen = rank.published;
    }
    rank.waits = rank.seen < rank.published && input_.below(2) == 1;
    if (input_.below(16) == 15) rank.counts = rank.waits = false;
  }
  GroupMessage some_message() {
    GroupMessage message{
        .kind = static_cast<GroupMessage::Kind>(input_.below(10)),
        .round = {.step = input_.near(own_[0].published + 1), .group = input_.below(4) - 1},
        .member = input_.near(1),
        .step = input_.near(own_[0].seen),
        .seen = input_.near(own_[0].seen),
        .staleness = input_.near(std::uint64_t{0})};
    for (int ranks = input_.below(3); ranks > 0; --ranks) message.ranks.push_back(input_.near(1));
    return message;
  }
  void bring() {
    for (const round::GroupRound& started : agreement_.started()) {
      if (agreement_.party(started).members.empty()) broken("a round has members here");
      agreement_.bring(started, {});
      if (agreement_.party(started).complete()) agreement_.complete(started);
    }
  }
  bool gather(int from) {
    std::vector<GroupAgreement::MachineReport> reports(topology_.machines(), agreement_.report());
    reports[from] = {.step = input_.near(reports[0].step),
                     .seen = input_.near(reports[0].seen),
                     .rounds = input_.near(0)};
    return sensible([&] {
      const std::uint64_t step = agreement_.gather(reports);
      if (step > 0) agreement_.complete({.step = step});
    });
  }

  Input& input_;
  fabric::Topology topology_;
  GroupAgreement agreement_;
  std::vector<GroupFacts> own_;
};

void play_groups(Input& input) {
  GroupsPlay play(input);
  for (round::Time now = 0; !input.empty(); now += 100'000'000) {
    if (!play.act(now)) return;
    play.expect_well();
  }
}

/// What is unpacked packs to the same bytes.
void read_others(Input& input) {
  const fabric::Topology topology = topology_of(input);
  const int from = input.below(topology.machines());
  const int kind = input.below(3);
  const auto bytes = input.take_bytes(1000);
  const auto same = [&](const auto& packed) {
    if (!std::equal(packed.begin(), packed.end(), bytes.begin(), bytes.end())) {
      broken("what is unpacked is what was packed");
    }
  };
  sensible([&] {
    if (kind == 0) same(pack(agent::unpack_agent_message(bytes, from, topology)));
    if (kind == 1) same(pack(world::unpack_world_message(bytes, from, topology)));
    if (kind != 2) return;
    board::Attachment attachment{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), attachment.size()), attachment.begin());
    const auto order = world::CollectiveSpec::unpack(attachment, from, topology);
    const auto packed = order.pack();
    if (world::CollectiveSpec::unpack(packed, from, topology).pack() != packed) {
      broken("an order is read as it was written");
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.below(3)) {
    case 0:
      play_rounds(input);
      break;
    case 1:
      play_groups(input);
      break;
    case 2:
      read_others(input);
      break;
  }
  return 0;
}

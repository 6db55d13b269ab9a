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

void play_rounds(Input& input) {
  const fabric::Topology topology = topology_of(input);
  const int own_ranks = ranks_of(topology, 0);
  const std::vector<Trigger> triggers{all(), first(), majority(), count(2)};
  Agreement agreement(triggers[input.below(4)], 1 + input.below(4), topology.machine_of, 0);
  std::uint64_t seen = 0;
  const auto own_facts = [&] {
    seen = std::min(agreement.next() - 1, seen + input.below(3));
    return Facts{.here = some_of(input, own_ranks),
                 .counting = some_of(input, own_ranks),
                 .waits = input.below(2) == 1,
                 .seen = seen,
                 .slowest = 0};
  };
  for (round::Time now = 0; !input.empty(); now += 100'000) {
    const int from = 1 + input.below(topology.machines() - 1);
    const int ranks = ranks_of(topology, from);
    bool fine = true;
    switch (input.below(4)) {
      case 0:
        agreement.observe(own_facts(), Duration(input.below(2) * 1000), now);
        break;
      case 1:
        fine = sensible([&] {
          const auto bytes = input.take_bytes(input.below(40));
          agreement.hear(from, detail::unpack_message(bytes, from, topology.machine_of), now);
        });
        break;
      case 2: {
        const Message message{.kind = static_cast<Message::Kind>(input.below(4)),
                              .round = input.near(agreement.next()),
                              .span = input.near(1),
                              .root = input.near(1),
                              .waited = input.below(2) == 1,
                              .drawn = input.near(0),
                              .ranks = some_of(input, topology.ranks()),
                              .facts = {.here = some_of(input, ranks),
                                        .counting = some_of(input, ranks),
                                        .waits = input.below(2) == 1,
                                        .seen = input.near(agreement.next() - 1)}};
        fine = sensible([&] { agreement.hear(from, message, now); });
        break;
      }
      case 3:
        if (agreement.started()) {
          std::vector<Facts> facts(topology.machines());
          for (int machine = 0; machine < topology.machines(); ++machine) {
            facts[machine] = {.here = RankSet(ranks_of(topology, machine)),
                              .counting = some_of(input, ranks_of(topology, machine)),
                              .seen = agreement.next() - 1};
          }
          fine = sensible([&] { agreement.complete(facts, now); });
        }
        break;
    }
    if (!fine) return;  // The agent ends.
    expect_sent_well(agreement, topology);
    for (const int rank : agreement.missing().list()) {
      if (rank >= topology.ranks()) broken("ranks that are missing are there");
    }
  }
}

void play_groups(Input& input) {
  const fabric::Topology topology = topology_of(input);
  const GroupOptions options{.group_size = 1 + input.below(3),
                             .synchronize_every = input.below(4),
                             .rotate = input.below(2) == 1,
                             .trigger = input.below(2) == 1 ? all() : first(),
                             .grace = input.below(2) == 1 ? grace(Duration(1000)) : no_grace(),
                             .window = 1 + input.below(3)};
  GroupAgreement agreement(options, topology.machine_of, 0);
  std::vector<GroupFacts> own(ranks_of(topology, 0), {.counts = true});
  for (round::Time now = 0; !input.empty(); now += 100'000'000) {
    const int from = 1 + input.below(topology.machines() - 1);
    bool fine = true;
    switch (input.below(5)) {
      case 0: {
        GroupFacts& rank = own[input.below(static_cast<int>(own.size()))];
        if (rank.seen == rank.published) {
          ++rank.published;
        } else {
          rank.seen = rank.published;
        }
        rank.waits = rank.seen < rank.published && input.below(2) == 1;
        if (input.below(16) == 15) rank.counts = rank.waits = false;
        agreement.observe(own, now);
        break;
      }
      case 1:
        fine = sensible([&] {
          const auto bytes = input.take_bytes(input.below(64));
          agreement.hear(from, group::unpack_group_message(bytes, from));
        });
        break;
      case 2: {
        GroupMessage message{
            .kind = static_cast<GroupMessage::Kind>(input.below(10)),
            .round = {.step = input.near(own[0].published + 1), .group = input.below(4) - 1},
            .member = input.near(1),
            .step = input.near(own[0].seen),
            .seen = input.near(own[0].seen),
            .staleness = input.near(std::uint64_t{0})};
        for (int ranks = input.below(3); ranks > 0; --ranks) {
          message.ranks.push_back(input.near(1));
        }
        fine = sensible([&] { agreement.hear(from, message); });
        break;
      }
      case 3:
        for (const round::GroupRound& started : agreement.started()) {
          if (agreement.party(started).members.empty()) broken("a round has members here");
          agreement.bring(started, {});
          if (agreement.party(started).complete()) agreement.complete(started);
        }
        break;
      case 4:
        if (agreement.global_due()) {
          std::vector<GroupAgreement::MachineReport> reports(topology.machines(),
                                                             agreement.report());
          reports[from] = {.step = input.near(reports[0].step),
                           .seen = input.near(reports[0].seen),
                           .rounds = input.near(0)};
          fine = sensible([&] {
            if (agreement.gather(reports) > 0) agreement.complete_global();
          });
        }
        break;
    }
    if (!fine) return;
    for (const auto& [to, message] : agreement.take_messages()) {
      if (to <= 0 || to >= topology.machines()) broken("messages go to other machines");
      if (!sensible([&, &sent = message] { group::unpack_group_message(group::pack(sent), 0); })) {
        broken("what is packed can be unpacked");
      }
    }
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

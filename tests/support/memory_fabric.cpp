#include "support/memory_fabric.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>

#include "agent/thread.h"
#include "board/roster.h"
#include "board/segment.h"
#include "kernel/kernel.h"
#include "support/crew.h"
#include "world/access.h"
#include "world/layout.h"
#include "world/world_state.h"

namespace syncopate::testing {
namespace {

using fabric::Channel;
using fabric::Combine;
using fabric::Operation;
using Bytes = std::vector<std::byte>;

Bytes copy_of(const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  return bytes > 0 ? Bytes(begin, begin + bytes) : Bytes();
}

/// What all machines share. Everything is under the mutex.
struct Hub {
  explicit Hub(int count) : machines(count), boxes(count * count) {}

  struct Traffic {  ///< Stays with the sender until the other machine takes it.
    const std::byte* values = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<bool> taken;
  };
  struct Table {  ///< One operation of one channel.
    std::vector<Bytes> brought;
    int came = 0;
    int in_place = 0;  ///< How many of them have the result where their values are.
  };
  const int machines;
  std::mutex mutex;
  std::vector<std::deque<Bytes>> boxes;
  std::map<std::pair<int, int>, Table> tables;  ///< By channel and number.
  std::map<std::tuple<int, int, int, int>, std::deque<Traffic>>
      parcels;  ///< Channel, from, to, tag.
};

class Later final : public Operation {
 public:
  explicit Later(std::function<bool()> look) : look_(std::move(look)) {}
  bool done() override { return done_ = done_ || look_(); }

 private:
  std::function<bool()> look_;
  bool done_ = false;
};

void combine(std::vector<Bytes>& brought, DataType type, Combine how, void* result) {
  const std::size_t bytes = brought.front().size();
  if (bytes == 0) return;
  if (how == Combine::sum) {
    std::vector<board::Term> terms;
    for (const Bytes& one : brought) terms.push_back({.values = one.data(), .weight = 1});
    board::weighted_sum(type, bytes / size_of(type), terms, 1, result);
    return;
  }
  Bytes total(bytes);
  for (const Bytes& one : brought) {
    for (std::size_t i = 0; i < bytes; ++i) total[i] |= one[i];
  }
  std::memcpy(result, total.data(), bytes);
}

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(std::shared_ptr<Hub> hub, int machine, int number)
      : hub_(std::move(hub)), machine_(machine), number_(number) {}

  std::unique_ptr<Operation> gather(const void* mine, std::size_t bytes, void* all) override {
    return meet(copy_of(mine, bytes), [all, bytes](std::vector<Bytes>& brought) {
      for (std::size_t i = 0; i < brought.size(); ++i) {
        std::memcpy(static_cast<std::byte*>(all) + i * bytes, brought[i].data(), bytes);
      }
    });
  }
  std::unique_ptr<Operation> reduce(const void* mine, void* result, std::size_t elements,
                                    DataType type, Combine how) override {
    if (size_of(type) < sizeof(float)) throw std::logic_error("not for types of sixteen bits");
    return meet(
        copy_of(mine, elements * size_of(type)),
        [=](std::vector<Bytes>& brought) { combine(brought, type, how, result); }, mine == result);
  }
  std::unique_ptr<Operation> send(int machine, int tag, const void* values,
                                  std::size_t bytes) override {
    const std::lock_guard lock(hub_->mutex);
    auto taken = std::make_shared<bool>(bytes == 0);
    hub_->parcels[{number_, machine_, machine, tag}].push_back(
        {static_cast<const std::byte*>(values), bytes, taken});
    return std::make_unique<Later>([hub = hub_, taken] {
      const std::lock_guard again(hub->mutex);
      return *taken;
    });
  }
  std::unique_ptr<Operation> receive(int machine, int tag, void* values,
                                     std::size_t bytes) override {
    expect_free(static_cast<const std::byte*>(values), bytes);
    return std::make_unique<Later>([=, this] {
      const std::lock_guard lock(hub_->mutex);
      auto& box = hub_->parcels[{number_, machine, machine_, tag}];
      if (box.empty()) return false;
      if (bytes > 0) std::memcpy(values, box.front().values, bytes);
      *box.front().taken = true;
      box.pop_front();
      return true;
    });
  }

 private:
  /// What is being sent must not change.
  void expect_free(const std::byte* values, std::size_t bytes) const {
    const std::lock_guard lock(hub_->mutex);
    for (const auto& [way, parcels] : hub_->parcels) {
      if (std::get<1>(way) != machine_) continue;
      for (const Hub::Traffic& parcel : parcels) {
        const bool apart =
            values + bytes <= parcel.values || parcel.values + parcel.bytes <= values;
        if (!apart) throw std::logic_error("received where something is sent from");
      }
    }
  }

  std::unique_ptr<Operation> meet(Bytes mine, std::function<void(std::vector<Bytes>&)> end,
                                  bool in_place = false) {
    const std::pair key(number_, begun_++);
    const std::lock_guard lock(hub_->mutex);
    Hub::Table& table = hub_->tables[key];
    table.brought.resize(hub_->machines);
    table.brought[machine_] = std::move(mine);
    ++table.came;
    table.in_place += in_place ? 1 : 0;
    return std::make_unique<Later>([hub = hub_, key, end = std::move(end)] {
      const std::lock_guard again(hub->mutex);
      Hub::Table& met = hub->tables[key];
      if (met.came < hub->machines) return false;
      if (met.in_place % hub->machines != 0) throw std::logic_error("in place on some machines");
      end(met.brought);
      return true;
    });
  }

  std::shared_ptr<Hub> hub_;
  int machine_;
  int number_;
  int begun_ = 0;
};

class MemoryFabric final : public fabric::Fabric {
 public:
  MemoryFabric(std::shared_ptr<Hub> hub, int machine) : hub_(std::move(hub)), machine_(machine) {}

  void send(int machine, std::span<const std::byte> message) override {
    const std::lock_guard lock(hub_->mutex);
    hub_->boxes[machine_ * hub_->machines + machine].emplace_back(message.begin(), message.end());
  }
  int receive(Bytes& message) override {
    const std::lock_guard lock(hub_->mutex);
    for (int from = 0; from < hub_->machines; ++from) {
      auto& box = hub_->boxes[from * hub_->machines + machine_];
      if (box.empty()) continue;
      message = std::move(box.front());
      box.pop_front();
      return from;
    }
    return -1;
  }
  std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) override {
    into = std::make_unique<MemoryChannel>(hub_, machine_, opened_++);
    return std::make_unique<Later>([] { return true; });
  }

 private:
  std::shared_ptr<Hub> hub_;
  int machine_;
  int opened_ = 0;
};

class MemoryLink final : public fabric::Link {
 public:
  MemoryLink(fabric::Topology topology, std::unique_ptr<fabric::Fabric> fabric)
      : topology_(std::move(topology)), fabric_(std::move(fabric)) {}

  const fabric::Topology& topology() const override { return topology_; }
  std::string from_first(const std::string& text) override { return text; }
  std::unique_ptr<fabric::Fabric> fabric() override { return std::move(fabric_); }

 private:
  fabric::Topology topology_;
  std::unique_ptr<fabric::Fabric> fabric_;
};

}  // namespace

std::vector<std::unique_ptr<fabric::Fabric>> memory_fabrics(int machines) {
  const auto hub = std::make_shared<Hub>(machines);
  std::vector<std::unique_ptr<fabric::Fabric>> result;
  for (int machine = 0; machine < machines; ++machine) {
    result.push_back(std::make_unique<MemoryFabric>(hub, machine));
  }
  return result;
}

std::vector<World> machines_of_ranks(const std::vector<int>& sizes, bool dealt,
                                     std::vector<std::unique_ptr<fabric::Fabric>> fabrics,
                                     const MakePlatform& make_platform,
                                     const agent::MakeAgentDriver& make_driver) {
  const int machines = static_cast<int>(sizes.size());
  fabric::Topology topology;
  std::vector<int> left = sizes;
  for (int machine = 0; machine < machines; ++machine) {
    topology.addresses.push_back("host" + std::to_string(machine));
  }
  int ranks = 0;
  for (const int size : sizes) ranks += size;
  for (int machine = 0; static_cast<int>(topology.machine_of.size()) < ranks;) {
    if (left[machine] > 0) {
      --left[machine];
      topology.machine_of.push_back(machine);
      if (!dealt && left[machine] > 0) continue;
    }
    machine = (machine + 1) % machines;
  }
  std::vector<std::shared_ptr<board::Segment>> segments;
  for (int machine = 0; machine < machines; ++machine) {
    std::vector<int> numbers;
    for (int rank = 0; rank < ranks; ++rank) {
      if (topology.machine_of[rank] == machine) numbers.push_back(rank);
    }
    segments.push_back(board::Segment::create_private());
    board::Seats::prepare(segments.back()->map(0, agent::ControlMemory::bytes())->data(), numbers,
                          ranks, world::layout_behind_roster());
  }
  std::vector<World> worlds;
  std::vector<int> seated(machines);
  for (int rank = 0; rank < ranks; ++rank) {
    const int machine = topology.machine_of[rank];
    auto state =
        std::make_shared<detail::WorldState>(segments[machine], seated[machine]++, make_platform());
    topology.rank = rank;
    topology.machine = machine;
    std::unique_ptr<fabric::Link> link =
        std::make_unique<MemoryLink>(topology, std::move(fabrics[machine]));
    state->connect(link, make_driver);
    worlds.push_back(detail::WorldAccess::make(std::move(state)));
  }
  return worlds;
}

std::vector<World> machines_of_threads(const std::vector<int>& sizes, bool dealt,
                                       std::vector<std::unique_ptr<fabric::Fabric>> fabrics,
                                       const MakePlatform& make_platform) {
  return machines_of_ranks(sizes, dealt, std::move(fabrics), make_platform,
                           agent::AgentThread::maker(make_platform));
}

std::vector<World> uneven_machines(int ranks) {
  // Sizes 1, 2, 3, 1, 2 …; every other world has its ranks dealt in turn.
  std::vector<int> sizes;
  for (int left = ranks; left > 0; left -= sizes.back()) {
    sizes.push_back(std::min(left, 1 + static_cast<int>(sizes.size()) % 3));
  }
  return machines_of_threads(sizes, ranks % 2 == 1, memory_fabrics(static_cast<int>(sizes.size())));
}

}  // namespace syncopate::testing

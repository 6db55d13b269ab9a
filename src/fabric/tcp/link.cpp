#include "fabric/tcp/link.h"

#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "board/launcher_board.h"
#include "fabric/host.h"
#include "fabric/split.h"
#include "fabric/tcp/cards.h"
#include "fabric/tcp/fabric.h"
#include "fabric/tcp/gate.h"
#include "fabric/tcp/store.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

using namespace std::chrono_literals;

/// By so much the others wait longer for rank 0 than it does for them: it says who is missing.
constexpr auto kLongerForTheFirst = 2s;
/// What a value begins with where rank 0 tells all others why there is no world.
const std::string kFailed = "failed:";

/// The address at which this machine listens: that from which it reaches the others.
in_addr_t address_to_listen_at(const Topology& topology) {
  const auto& networks = topology.networks;
  const bool one_host =
      std::ranges::all_of(networks, [&](const auto& theirs) { return theirs == networks.front(); });
  if (one_host) return htonl(INADDR_LOOPBACK);
  if (const char* master = std::getenv("MASTER_ADDR")) {
    const in_addr_t source = source_towards(resolve(master));
    if (source != 0 && !is_loopback(source)) return source;
  }
  const auto& own = networks[topology.machine];
  for (int machine = 0; machine < topology.machines(); ++machine) {
    for (const in_addr_t theirs : networks[machine]) {
      if (std::ranges::find(own, theirs) != own.end()) continue;
      const in_addr_t source = source_towards(theirs);
      if (source != 0 && !is_loopback(source)) return source;
    }
  }
  throw Error(ErrorCode::environment,
              "machine " + topology.addresses[topology.machine] +
                  " has no IPv4 address by which it reaches the others",
              "Connect the machines by a network with IPv4");
}

class TcpLink final : public Link {
 public:
  TcpLink(std::shared_ptr<Rendezvous> owned, Rendezvous& rendezvous, int rank, int size,
          const std::string& name, const std::string& build)
      : owned_(std::move(owned)), rendezvous_(&rendezvous), prefix_("syncopate/" + name + "/") {
    const Table table = exchange_cards(rank, size, build);
    topology_ = topology_of(table, rank);
    if (topology_.machines() > 1) find_machines(table);
  }

  const Topology& topology() const override { return topology_; }

  std::string from_first(const std::string& text) override {
    const int here = static_cast<int>(std::ranges::count(topology_.machine_of, topology_.machine));
    if (here == 1) return text;
    const std::string key = text_key(texts_++);
    if (is_first()) {
      set(key, to_hex(std::as_bytes(std::span(text))));
      return text;
    }
    const std::vector<std::byte> bytes = from_hex(get_from_machines_first(key));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::unique_ptr<Fabric> fabric() override {
    if (!is_first()) return nullptr;
    if (!gate_) return std::make_unique<TcpFabric>(std::make_shared<Hub>());
    const auto deadline = Clock::now() + board::timeout_from_environment();
    return std::make_unique<TcpFabric>(
        std::make_shared<Hub>(topology_.machine, gate_->meet(places_, deadline)));
  }

  /// The ranks of this machine may wait for its first.
  void note_loss() override {
    if (rendezvous_ == nullptr || !is_first()) return;
    try {
      set(text_key(texts_++), kFailed);
    } catch (const std::exception&) {
      // They are told after their own time.
    }
  }

  void note_made() override {
    gate_.reset();
    rendezvous_ = nullptr;
    owned_.reset();
  }

 private:
  int first_of(int machine) const {
    return static_cast<int>(std::ranges::find(topology_.machine_of, machine) -
                            topology_.machine_of.begin());
  }
  bool is_first() const { return first_of(topology_.machine) == topology_.rank; }

  void set(const std::string& key, const std::string& value) {
    rendezvous_->set(prefix_ + key, value);
  }
  std::string get(const std::string& key, Duration longer = Duration(kLongerForTheFirst)) {
    return rendezvous_->get(prefix_ + key, board::timeout_from_environment() + longer);
  }
  /// What rank 0 has to say to all: throws what it was that kept it.
  std::string get_from_first(const std::string& key) {
    const std::string value = get(key);
    if (!value.starts_with(kFailed)) return value;
    throw Error(ErrorCode::environment, value.substr(kFailed.size()),
                "Look for what became of the others, and start all ranks again");
  }
  std::string text_key(int number) const {
    return "first/" + std::to_string(topology_.machine) + "/" + std::to_string(number);
  }
  std::string get_from_machines_first(const std::string& key) {
    try {
      const std::string value = get(key);
      if (value != kFailed) return value;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout) throw;
    }
    throw Error(ErrorCode::timeout,
                "rank " + std::to_string(topology_.rank) + " waited in vain: rank " +
                    std::to_string(first_of(topology_.machine)) +
                    ", the first of its machine, did not come",
                "Look for what it has said, or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
  }
  /// Of these ranks, on rank 0: the values of their keys.
  std::vector<std::string> collect(const std::string& key, const std::vector<int>& ranks);
  Table exchange_cards(int rank, int size, const std::string& build);
  void find_machines(const Table& table);

  std::shared_ptr<Rendezvous> owned_;
  Rendezvous* rendezvous_;
  const std::string prefix_;
  Topology topology_;
  std::optional<Gate> gate_;     ///< Of the first rank of a machine, if there are several.
  std::vector<Address> places_;  ///< Of all machines' gates.
  int texts_ = 0;
};

std::vector<std::string> TcpLink::collect(const std::string& key, const std::vector<int>& ranks) {
  const auto deadline = Clock::now() + board::timeout_from_environment();
  std::vector<std::string> values;
  std::vector<int> missing;
  std::string why;
  for (const int rank : ranks) {
    try {
      // Once one is missing the others are only asked for, to name them all.
      const Duration left = missing.empty() ? Duration(deadline - Clock::now()) : Duration(1ms);
      values.push_back(
          rendezvous_->get(prefix_ + key + std::to_string(rank), std::max(left, Duration(1ms))));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout) throw;
      missing.push_back(rank);
      why = error.what_happened();
    }
  }
  if (missing.empty()) return values;
  throw Error(ErrorCode::timeout,
              "rank 0 waited in vain for " + base::names_of(missing) + ": " + why,
              "Look for what they have said, or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
}

Table TcpLink::exchange_cards(int rank, int size, const std::string& build) {
  set("rank/" + std::to_string(rank), pack(own_card(build)));
  if (rank != 0) {
    Table table = parse_table(get_from_first("ranks"));
    if (static_cast<int>(table.cards.size()) == size) return table;
    throw Error(ErrorCode::environment,
                "rank " + std::to_string(rank) + " was told of " + std::to_string(size) +
                    " ranks, and rank 0 of " + std::to_string(table.cards.size()),
                "Start all ranks with the same number of them (WORLD_SIZE)");
  }
  try {
    std::vector<int> ranks(size);
    for (int other = 0; other < size; ++other) ranks[other] = other;
    const char* split = std::getenv(kSplitVariable);
    Table table{
        .random = to_hex(random_digest()), .split = split == nullptr ? "" : split, .cards = {}};
    for (const std::string& text : collect("rank/", ranks)) table.cards.push_back(parse_card(text));
    for (int other = 1; other < size; ++other) {
      const Card &first = table.cards[0], &card = table.cards[other];
      if (card.build == first.build) continue;
      throw Error(ErrorCode::environment,
                  "rank 0 on " + first.host + " is Syncopate " + first.build + ", and rank " +
                      std::to_string(other) + " on " + card.host + " is Syncopate " + card.build,
                  "Install the same build on every machine");
    }
    parse_split(table.split);  // What makes no sense is told to all.
    set("ranks", pack(table));
    return table;
  } catch (const std::exception& error) {
    set("ranks", kFailed + error.what());
    throw;
  }
}

void TcpLink::find_machines(const Table& table) {
  const std::vector<std::byte> random = from_hex(table.random);
  const Digest secret = hmac_sha256(users_secret(prefix_), {random});
  if (is_first()) {
    gate_.emplace(address_to_listen_at(topology_), topology_, secret);
    set("at/" + std::to_string(topology_.rank), to_string(gate_->address()));
  }
  if (topology_.rank == 0) {
    std::vector<int> firsts;
    for (int machine = 0; machine < topology_.machines(); ++machine) {
      firsts.push_back(first_of(machine));
    }
    try {
      std::string all;
      for (const std::string& place : collect("at/", firsts)) all += place + ",";
      set("places", all);
    } catch (const std::exception& error) {
      set("places", kFailed + error.what());
      throw;
    }
  }
  if (!is_first()) return;
  std::string rest = get_from_first("places");
  for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    const auto place = parse_address(rest.substr(0, comma));
    if (place) places_.push_back(*place);
    rest.erase(0, comma + 1);
  }
  if (static_cast<int>(places_.size()) == topology_.machines()) return;
  throw Error(ErrorCode::environment, "the rendezvous has addresses of machines that are none",
              "Use a rendezvous, or a name, of its own for each world");
}

/// One for all worlds that are being made: there is one port.
std::shared_ptr<Rendezvous> shared_store(const JobEnvironment& launcher) {
  static std::mutex mutex;
  static std::weak_ptr<Rendezvous> kept;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Rendezvous> store = kept.lock();
  if (store != nullptr) return store;
  store = make_store(store_place_from_environment(launcher.rank, launcher.ranks,
                                                  launcher.ranks_here == launcher.ranks));
  kept = store;
  return store;
}

}  // namespace

std::unique_ptr<Link> make_link(Rendezvous& rendezvous, int rank, int size, const std::string& name,
                                const std::string& build) {
  return std::make_unique<TcpLink>(nullptr, rendezvous, rank, size, name, build);
}

std::unique_ptr<Link> make_link(const JobEnvironment& launcher, const std::string& build) {
  // Ranks make their worlds in the same order: so names that count agree.
  static std::atomic<int> worlds = 0;
  auto store = shared_store(launcher);
  Rendezvous& rendezvous = *store;
  return std::make_unique<TcpLink>(std::move(store), rendezvous, launcher.rank, launcher.ranks,
                                   "world-" + std::to_string(worlds++), build);
}

}  // namespace syncopate::fabric::tcp

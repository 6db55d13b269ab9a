#include "fabric/tcp/cards.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "fabric/addresses.h"
#include "fabric/host.h"
#include "fabric/split.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

constexpr char kFields = '|';
constexpr char kRecords = ';';
constexpr char kItems = ',';

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Printable, and without what separates fields.
std::string plain(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == kFields || c == kRecords) c = '?';
  }
  return text;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::environment, "the rendezvous has " + what,
              "Start the same build of Syncopate everywhere, with a rendezvous of its own for each "
              "world");
}

}  // namespace

std::string to_hex(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto byte = base::leading_number<std::uint8_t>(std::string_view(text).substr(i, 2), 16);
    if (!byte || !byte->rest.empty()) return {};
    bytes.push_back(std::byte{byte->value});
  }
  return text.size() % 2 == 0 ? bytes : std::vector<std::byte>();
}

Card own_card(const std::string& build) {
  const std::string memory = identity_of_memory();
  return {.memory = to_hex(sha256({std::as_bytes(std::span(memory))})),
          .host = plain(name_of_host()),
          .networks = addresses_of_host(),
          .build = plain(build)};
}

std::string pack(const Card& card) {
  std::string networks;
  for (const std::uint32_t address : card.networks) {
    if (!networks.empty()) networks += kItems;
    networks += std::to_string(address);
  }
  return card.memory + kFields + card.host + kFields + networks + kFields + card.build;
}

Card parse_card(const std::string& text) {
  const std::vector<std::string> fields = split(text, kFields);
  if (fields.size() != 4) refuse("what is no card of a rank");
  Card card{.memory = fields[0], .host = fields[1], .networks = {}, .build = fields[3]};
  if (fields[2].empty()) return card;
  for (const std::string& item : split(fields[2], kItems)) {
    const auto address = base::number<std::uint32_t>(item);
    if (!address || card.networks.size() == kMostAddresses) refuse("addresses that are none");
    card.networks.push_back(*address);
  }
  return card;
}

std::string pack(const Table& table) {
  std::string text = table.random + kFields + plain(table.split);
  for (const Card& card : table.cards) text += kRecords + pack(card);
  return text;
}

Table parse_table(const std::string& text) {
  const std::vector<std::string> records = split(text, kRecords);
  const std::vector<std::string> fields = split(records.front(), kFields);
  if (fields.size() != 2) refuse("what is no table of ranks");
  Table table{.random = fields[0], .split = fields[1], .cards = {}};
  for (std::size_t i = 1; i < records.size(); ++i) table.cards.push_back(parse_card(records[i]));
  return table;
}

Topology topology_of(const Table& table, int rank) {
  const std::vector<int> sizes = parse_split(table.split);
  Topology topology{.rank = rank};
  std::map<std::string, int> ranks_on;                  // By memory.
  std::map<std::pair<std::string, int>, int> machines;  // By memory, and part of the host.
  for (const Card& card : table.cards) {
    const int part = sizes.empty() ? 0 : part_of(ranks_on[card.memory]++, sizes);
    const auto [at, first] =
        machines.try_emplace({card.memory, part}, static_cast<int>(machines.size()));
    topology.machine_of.push_back(at->second);
    if (!first) continue;
    topology.addresses.push_back(sizes.empty() ? card.host
                                               : card.host + "#" + std::to_string(part + 1));
    topology.networks.push_back(card.networks);
  }
  topology.machine = topology.machine_of[rank];
  return topology;
}

}  // namespace syncopate::fabric::tcp

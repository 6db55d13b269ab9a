// What ranks tell each other of themselves by the rendezvous, as printable text, and what follows
// from it: which of them are on one machine. Rank 0 collects the cards and gives all of them to
// everyone, so that a rendezvous is asked in proportion to the ranks, and not to their square.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/tcp/hmac.h"

namespace syncopate::fabric::tcp {

/// One rank's.
struct Card {
  std::string memory;  ///< The same for ranks that can share it.
  std::string host;    ///< Its name.
  std::vector<std::uint32_t> networks;
  std::string build;
};
Card own_card(const std::string& build);

/// What rank 0 makes of all of them.
struct Table {
  std::string random;  ///< From which the job's secret is made.
  std::string split;   ///< As SYNCOPATE_SPLIT of rank 0.
  std::vector<Card> cards;
};

std::string pack(const Card& card);
std::string pack(const Table& table);
/// Both throw `environment` for what is none.
Card parse_card(const std::string& text);
Table parse_table(const std::string& text);

/// As the rank with that number sees it. Throws std::runtime_error as plug-ins do if the split
/// makes no sense.
Topology topology_of(const Table& table, int rank);

std::string to_hex(Bytes bytes);
/// Empty if that is none.
std::vector<std::byte> from_hex(const std::string& text);

}  // namespace syncopate::fabric::tcp

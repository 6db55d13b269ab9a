// Where a rank finds itself, and what the ranks of one machine hear from their first.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "fabric/company.h"
#include "fabric/job_environment.h"
#include "fabric/plugin.h"

namespace syncopate::testing {
namespace {

/// SYNCOPATE_SPLIT as numbers; empty if it is not set.
std::vector<int> split() {
  std::vector<int> sizes;
  const char* text = std::getenv("SYNCOPATE_SPLIT");
  while (text != nullptr && *text != '\0') {
    char* end = nullptr;
    sizes.push_back(static_cast<int>(std::strtol(text, &end, 10)));
    text = *end == ',' ? end + 1 : end;
  }
  return sizes;
}

TEST(Topology, IsWhatTheLauncherAndTheSplitSay) {
  const fabric::Topology& topology = company().topology();
  const auto launcher = fabric::launcher_from_environment();
  ASSERT_TRUE(launcher);
  EXPECT_EQ(topology.rank, launcher->rank);
  EXPECT_EQ(topology.ranks(), launcher->ranks);
  EXPECT_EQ(topology.machine, topology.machine_of[topology.rank]);

  std::vector<int> expected;
  std::vector<int> sizes = split();
  if (sizes.empty()) sizes = {topology.ranks()};  // The tests run on one host.
  for (int machine = 0; static_cast<int>(expected.size()) < topology.ranks(); ++machine) {
    expected.insert(expected.end(), sizes[machine % sizes.size()], machine);
  }
  expected.resize(topology.ranks());
  EXPECT_EQ(topology.machine_of, expected);
  EXPECT_EQ(topology.machines(), expected.back() + 1);
}

TEST(Topology, GivesEachMachineAnAddressOfItsOwn) {
  const fabric::Topology& topology = company().topology();
  const std::set<std::string> different(topology.addresses.begin(), topology.addresses.end());
  EXPECT_EQ(static_cast<int>(different.size()), topology.machines());
  for (int machine = 0; machine < topology.machines(); ++machine) {
    const std::string& address = topology.addresses[machine];
    EXPECT_FALSE(address.empty());
    const std::size_t mark = address.find('#');
    if (split().empty()) {
      EXPECT_EQ(mark, std::string::npos);
    } else {
      ASSERT_NE(mark, std::string::npos);
      EXPECT_EQ(address.substr(mark + 1), std::to_string(machine + 1));
    }
  }
}

TEST(Topology, OnlyTheFirstRankOfAMachineHasAFabric) {
  const fabric::Topology& topology = company().topology();
  const auto first =
      std::find(topology.machine_of.begin(), topology.machine_of.end(), topology.machine);
  EXPECT_EQ(company_fabric() != nullptr, first - topology.machine_of.begin() == topology.rank);
}

TEST(FromFirst, GivesEveryRankTheTextOfTheFirst) {
  const fabric::Topology& topology = company().topology();
  const auto first =
      std::find(topology.machine_of.begin(), topology.machine_of.end(), topology.machine);
  const auto rank = std::to_string(first - topology.machine_of.begin());
  const std::string own = "rank " + std::to_string(topology.rank) + std::string(topology.rank, '!');
  const std::string text = company().from_first(own);
  EXPECT_EQ(text.substr(0, text.find('!')), "rank " + rank);
}

TEST(FromFirst, PassesEmptyAndLongTexts) {
  EXPECT_EQ(company().from_first(""), "");
  std::string text(1 << 20, 'x');
  text[1 << 10] = '\0';
  EXPECT_EQ(company().from_first(text), text);
}

TEST(Link, MayBeMadeAgain) {
  const auto launcher = fabric::launcher_from_environment();
  ASSERT_TRUE(launcher);
  for (int time = 0; time < 3; ++time) {
    const auto link = fabric::connect(*launcher);
    EXPECT_EQ(link->topology().machine_of, company().topology().machine_of);
    const auto fabric = link->fabric();
    if (fabric == nullptr) continue;
    const auto channel = open(*fabric);
    float one = 1;
    const auto sum = channel->reduce(&one, &one, 1, DataType::float32, fabric::Combine::sum);
    wait_for(*sum);
    EXPECT_EQ(one, machines());
  }
}

// A machine that does not come to the end of its fabric must not hold up the others for ever. Here
// it comes only after the others, whose second link it waits for.
TEST(Link, FabricGoesWithoutTheOtherMachines) {
  const auto launcher = fabric::launcher_from_environment();
  ASSERT_TRUE(launcher);
  auto link = fabric::connect(*launcher);
  auto fabric = link->fabric();
  if (machine() != 0) fabric.reset();
  const auto second = fabric::connect(*launcher);
  const auto second_fabric = second->fabric();
  fabric.reset();
  if (second_fabric != nullptr) {
    second_fabric->send((machine() + 1) % machines(), {});
    std::vector<std::byte> message;
    EXPECT_EQ(next_message(*second_fabric, message), (machine() + machines() - 1) % machines());
  }
}

}  // namespace
}  // namespace syncopate::testing

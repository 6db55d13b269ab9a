#include "train/inheritance.h"

#include <algorithm>
#include <functional>

namespace syncopate::train {
namespace {

/// Numbers of the trainer that are one rank's record.
constexpr const char* kSums[] = {"computing", "waiting", "own samples", "own exchanges",
                                 "contributors"};
constexpr const char* kLargest[] = {"staleness", "dropped"};

}  // namespace

void make_stand_in(Snapshot& snapshot) {
  snapshot.strategy.vectors.erase("carried");
  snapshot.strategy.numbers.erase("carried weight");
  const auto notes = snapshot.strategy.vectors.find("notes");
  if (notes != snapshot.strategy.vectors.end()) std::ranges::fill(notes->second, 0.0F);
  for (const char* name : kSums) snapshot.numbers[name] = 0;
  for (const char* name : kLargest) snapshot.numbers[name] = 0;
}

void inherit(Snapshot& heir, const Snapshot& other) {
  for (const char* name : {"carried", "notes"}) {
    const auto theirs = other.strategy.vectors.find(name);
    if (theirs == other.strategy.vectors.end()) continue;
    auto& mine = heir.strategy.vectors[name];
    mine.resize(theirs->second.size());
    std::ranges::transform(mine, theirs->second, mine.begin(), std::plus());
  }
  const auto weight = other.strategy.numbers.find("carried weight");
  if (weight != other.strategy.numbers.end()) {
    heir.strategy.numbers["carried weight"] += weight->second;
  }
  for (const char* name : kSums) heir.numbers[name] += other.numbers.at(name);
  for (const char* name : kLargest) {
    heir.numbers[name] = std::max(heir.numbers[name], other.numbers.at(name));
  }
}

void share_record(Snapshot& snapshot, int ranks) {
  const double share = double(ranks) / snapshot.ranks;
  // A share of all ranks' time, which is now counted by another number of clocks.
  snapshot.numbers["waiting"] *= share;
  // A rank with the samples of several had the time of all of them; ranks without a record have
  // neither.
  snapshot.numbers["computing"] *= std::min(1.0, share);
}

}  // namespace syncopate::train

#include "train/inheritance.h"

#include <algorithm>
#include <functional>

namespace syncopate::train {
namespace {

/// Vectors of strategies with what a rank has to give at the next exchange, beside `carried`.
constexpr const char* kGathered[] = {"notes", "fresh losses", "loss counts"};

}  // namespace

void make_stand_in(Snapshot& snapshot) {
  snapshot.strategy.vectors.erase("carried");
  snapshot.strategy.numbers.erase("carried weight");
  const auto drops = snapshot.strategy.numbers.find("unreported drops");
  if (drops != snapshot.strategy.numbers.end()) drops->second = 0;
  for (const char* name : kGathered) {
    const auto gathered = snapshot.strategy.vectors.find(name);
    if (gathered != snapshot.strategy.vectors.end()) std::ranges::fill(gathered->second, 0.0F);
  }
}

void inherit(Snapshot& heir, const Snapshot& other) {
  const auto add = [&](const char* name) {
    const auto theirs = other.strategy.vectors.find(name);
    if (theirs == other.strategy.vectors.end()) return;
    auto& mine = heir.strategy.vectors[name];
    mine.resize(theirs->second.size());
    std::ranges::transform(mine, theirs->second, mine.begin(), std::plus());
  };
  add("carried");
  for (const char* name : kGathered) add(name);
  for (const char* name : {"carried weight", "unreported drops"}) {
    const auto theirs = other.strategy.numbers.find(name);
    if (theirs != other.strategy.numbers.end()) heir.strategy.numbers[name] += theirs->second;
  }
}

}  // namespace syncopate::train

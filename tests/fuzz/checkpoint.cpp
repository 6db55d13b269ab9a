// Checkpoints that fit together and are wrong: the input says what of a whole one is changed, and
// the strategy that saved it loads what comes of it, alone or as an heir, and trains on.
#include <algorithm>
#include <map>
#include <memory>

#include "fuzz/refused.h"
#include "strategy/learner.h"
#include "syncopate/strategy.h"
#include "train/craft.h"
#include "train/part.h"

namespace syncopate {
namespace {

constexpr const char* kStrategies[] = {"sync",           "eager-solo:grace=off", "local:4",
                                       "m-sync:1",       "dropcompute",          "dropcompute:1s",
                                       "wagma:1:5",      "post-local:2:3",       "post-local:9:3",
                                       "biased-local:4", "eager-quorum:1",       "eager-majority"};
constexpr const char* kKind = "kind";

using testing::Vector;
using testing::VectorLearner;

/// A rank alone with its strategy.
struct Rank {
  explicit Rank(const char* strategy)
      : world(World::threads(1)[0]),
        learner(Vector{1, 2, 3}),
        made(make_strategy(strategy, {.world = world,
                                      .learner = learner,
                                      .notes = 2,
                                      .unsaved_notes = 1,
                                      .samples = 8,
                                      .batch = 2})) {}

  void step() {
    made->note_losses(made->choose(2), Vector{1, 2});
    testing::take_step(*made, learner, [&](auto, std::span<float> gradient) {
      std::ranges::fill(gradient, 1.0F);
      std::ranges::fill(made->notes(), 1.0F);
    });
  }

  World world;
  VectorLearner learner;
  std::unique_ptr<Strategy> made;
};

/// The file of a rank that has taken three steps, and left a gradient on the board if it can.
const std::string& saved_by(const char* strategy) {
  static std::map<std::string, std::string> files;
  std::string& file = files[strategy];
  if (!file.empty()) return file;
  Rank rank(strategy);
  for (int i = 0; i < 3; ++i) rank.step();
  train::Part part{.weights = {1, 2, 3}, .strategy = rank.made->save()};
  if (part.strategy.has("lag")) {
    part.strategy.entries["carried"] = {Sharing::pending, Vector{1, 1, 1, 1, 0}};
    part.strategy.entries["carried weight"] = {Sharing::pending, 1.0};
  }
  return file = train::to_bytes(part, kKind, {});
}

}  // namespace
}  // namespace syncopate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  std::size_t used = 0;
  const testing::Draw draw = [&](std::uint32_t below) {
    std::uint32_t number = 0;
    for (std::uint32_t most = 1; most < below && used < size; most <<= 8) {
      number = number << 8 | data[used++];
      if (most > below >> 8) break;
    }
    return number % below;
  };
  const char* strategy = kStrategies[draw(std::size(kStrategies))];
  const bool is_heir = draw(2) == 1, stands_in = draw(4) == 1;
  const auto read = [&] {
    const std::string bytes = testing::Crafted(saved_by(strategy), draw).bytes();
    train::Part part;
    train::reading("FILE", [&] { part = train::read_part(train::as_bytes(bytes), kKind).part; });
    return part.strategy;
  };
  // One that only looks, as making another takes longest.
  static std::map<std::string, std::unique_ptr<Rank>> ranks;
  std::unique_ptr<Rank>& looking = ranks[strategy];
  if (!looking) looking = std::make_unique<Rank>(strategy);
  const StrategyState before = looking->made->save();
  StrategyState state;
  const bool fits = taken([&] {
    state = read();
    if (stands_in) state.make_stand_in();
    if (is_heir) state.inherit(read());
    looking->made->check(state);
  });
  if (looking->made->save() != before) broken("looking changes nothing");
  if (!fits) return 0;
  Rank rank(strategy);
  rank.made->load(state);
  for (int i = 0; i < 6; ++i) rank.step();
  rank.made->finish();
  return 0;
}

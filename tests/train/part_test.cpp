// One rank's part of a checkpoint: read back whole, and refused where a bit, a name, a type or a
// number is not what is due.
#include "train/part.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "train/bytes.h"

namespace syncopate::train {
namespace {

constexpr const char* kKind = "a small run";
const std::vector<float> kBuffer{1, 2};

Part some() {
  return {.ranks = 3,
          .counters = {.samples = 96, .exchanges = 8, .taken = 32, .seconds = 0.5, .steps = 8},
          .evaluations = {{.seconds = 1, .samples = 64, .accuracy = 50, .loss = 2}},
          .weights = {1, 2, 3},
          .heading = Part::Heading{.before = {1, 2, 2.5F}, .mass = 0.75},
          .strategy = {.entries = {{"rounds", {Sharing::same, 8.0}},
                                   {"lag", {Sharing::own, 0.25}},
                                   {"carried", {Sharing::pending, std::vector<float>{1, 2}}},
                                   {"losses", {Sharing::same, std::vector<float>{INFINITY}}}}}};
}

Foreign some_foreign() {
  return {{"statistic.0", {Element::f32, {2}, std::as_bytes(std::span(kBuffer))}}};
}

void expect_refused(const std::string& bytes, const std::string& words) {
  try {
    read_part(as_bytes(bytes), kKind);
    ADD_FAILURE() << "it was read, where \"" << words << "\" is due";
  } catch (const Damaged& damage) {
    EXPECT_NE(std::string(damage.what()).find(words), std::string::npos) << damage.what();
  }
}

/// The bytes of a part whose notes or tensors are others, with a checksum that fits.
std::string changed(const std::function<void(TensorFileBytes&)>& change) {
  const std::string bytes = to_bytes(some(), kKind, some_foreign());
  TensorFileBytes file = find_tensors(as_bytes(bytes));
  file.notes.erase("checksum");
  change(file);
  return to_bytes(file);
}

std::string with_head(const std::function<void(nlohmann::json&)>& change) {
  return changed([&](TensorFileBytes& file) {
    nlohmann::json head = nlohmann::json::parse(file.notes.at("head"));
    change(head);
    file.notes["head"] = head.dump();
  });
}

TEST(CheckpointPart, IsReadAsItWasWritten) {
  const std::string bytes = to_bytes(some(), kKind, some_foreign());
  const auto [part, foreign] = read_part(as_bytes(bytes), kKind);
  EXPECT_EQ(part.ranks, 3);
  EXPECT_EQ(part.counters, some().counters);
  EXPECT_EQ(part.weights, some().weights);
  EXPECT_EQ(part.strategy, some().strategy);
  ASSERT_TRUE(part.heading);
  EXPECT_EQ(part.heading->before, some().heading->before);
  EXPECT_EQ(part.heading->mass, 0.75);
  ASSERT_EQ(part.evaluations.size(), 1U);
  EXPECT_EQ(part.evaluations[0].loss, 2);
  EXPECT_EQ(foreign.size(), 1U) << "what is not ours is left to others";
  EXPECT_EQ(clock_of(find_tensors(as_bytes(bytes)).notes), 0.5);
}

TEST(CheckpointPart, WithAnySingleBitFlippedIsRefused) {
  const std::string bytes = to_bytes(some(), kKind, some_foreign());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_THROW(read_part(as_bytes(flipped), kKind), Damaged) << "bit " << bit;
  }
}

TEST(CheckpointPart, OfAnotherVersionIsRefusedWithBoth) {
  expect_refused(changed([](auto& file) { file.notes["version"] = "3"; }),
                 "it is of version 3, and this program reads version 2");
  expect_refused(changed([](auto& file) { file.notes.erase("version"); }),
                 "it is of version 1, and this program reads version 2");
}

TEST(CheckpointPart, OfAnotherKindOfRunIsRefused) {
  expect_refused(with_head([](auto& head) { head["kind"] = "another"; }),
                 "it is of a run of another, and this is a small run");
}

TEST(CheckpointPart, WithWhatWasNotAskedForIsRefused) {
  expect_refused(changed([](auto& file) { file.notes["more"] = "1"; }), "a note \"more\"");
  expect_refused(with_head([](auto& head) { head["more"] = 1; }), "\"more\", which is not known");
  expect_refused(with_head([](auto& head) { head["numbers"]["more"] = 1; }),
                 "its list of counters");
  expect_refused(with_head([](auto& head) { head["strategy"]["more"] = 1; }), "its strategy");
  expect_refused(with_head([](auto& head) { head["evaluations"][0]["more"] = 1; }),
                 "an evaluation");
  expect_refused(with_head([](auto& head) { head["strategy"]["own"]["carried"] = 1; }),
                 "\"carried\" of the strategy twice");
}

TEST(CheckpointPart, ThatLacksSomethingIsRefused) {
  expect_refused(changed([](auto& file) { file.tensors.erase("weights"); }), "\"weights\"");
  expect_refused(changed([](auto& file) { file.tensors.erase("heading"); }), "\"heading\"");
  expect_refused(changed([](auto& file) { file.notes.erase("head"); }), "no head");
  const std::string bytes = to_bytes(some(), kKind, {});
  const nlohmann::json head = nlohmann::json::parse(find_tensors(as_bytes(bytes)).notes.at("head"));
  for (const auto& [name, value] : head.items()) {
    if (name == "heading_mass") continue;  // Then the heading was not asked for.
    expect_refused(with_head([&](auto& json) { json.erase(name); }), "no \"" + name + '"');
  }
  for (const auto& [name, value] : head.at("numbers").items()) {
    expect_refused(with_head([&](auto& json) { json["numbers"].erase(name); }),
                   "its list of counters has no \"" + name + '"');
  }
}

TEST(CheckpointPart, WithANumberOutOfItsRangeIsRefused) {
  const nlohmann::json none = nullptr;
  const nlohmann::json head =
      nlohmann::json::parse(find_tensors(as_bytes(to_bytes(some(), kKind, {}))).notes.at("head"));
  for (const auto& [name, value] : head.at("numbers").items()) {
    for (const nlohmann::json& number :
         {nlohmann::json(-1), nlohmann::json(1e300), none, nlohmann::json("1")}) {
      expect_refused(with_head([&](auto& json) { json["numbers"][name] = number; }),
                     '"' + name + '"');
    }
  }
  expect_refused(with_head([](auto& json) { json["ranks"] = 0; }), "\"ranks\" 0");
  expect_refused(with_head([](auto& json) { json["ranks"] = 1e9; }), "\"ranks\" 1000000000.0");
  expect_refused(with_head([](auto& json) { json["heading_mass"] = 0; }), "\"heading_mass\" 0");
  expect_refused(with_head([&](auto& json) { json["heading_mass"] = none; }), "\"heading_mass\"");
  expect_refused(with_head([](auto& json) { json["evaluations"][0]["samples"] = -1; }),
                 "\"samples\" -1");
  expect_refused(with_head([&](auto& json) { json["strategy"]["own"]["lag"] = none; }), "\"lag\"");
}

TEST(CheckpointPart, WithATensorOfAnotherTypeShapeOrValueIsRefused) {
  static const std::vector<double> doubles(3, 1.0);
  static const std::vector<float> wrong{1, NAN, 3};
  for (const char* name : {"weights", "heading", "strategy.pending.carried"}) {
    const auto with = [&](Element type, std::vector<std::int64_t> shape, auto& values) {
      return changed([&](auto& file) {
        file.tensors[name] = {type, std::move(shape), std::as_bytes(std::span(values))};
      });
    };
    expect_refused(with(Element::f64, {3}, doubles), "of F64");
    expect_refused(with(Element::i64, {3}, doubles), "of I64");
    expect_refused(with(Element::f32, {3, 1}, wrong), "with 2 sides");
    if (std::string(name).starts_with("strategy")) continue;  // The strategy says what may be.
    expect_refused(with(Element::f32, {3}, wrong), "no number");
  }
  expect_refused(changed([](auto& file) {
                   file.tensors["heading"] = {Element::f32, {2}, std::as_bytes(std::span(kBuffer))};
                 }),
                 "its heading has 2 values, where 3 are due");
}

}  // namespace
}  // namespace syncopate::train

// The bytes of a file of tensors: what is damaged or made up is refused, whichever bit it is.
#include "train/tensor_bytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "train/bytes.h"
#include "train/json.h"

namespace syncopate::train {
namespace {

const std::vector<float> kFloats{1, 2, 3};
const std::vector<std::int64_t> kWhole{7, -7};

TensorFileBytes some() {
  return {.tensors = {{"t", {Element::f32, {3, 1}, std::as_bytes(std::span(kFloats))}},
                      {"s", {Element::i64, {2}, std::as_bytes(std::span(kWhole))}},
                      {"nothing", {Element::f64, {0, 4}, {}}}},
          .notes = {{"head", R"({"checksum":"0123456789abcdef"})"}}};
}

TensorFileBytes read(const std::string& bytes) {
  TensorFileBytes found = find_tensors(as_bytes(bytes));
  check_sum(as_bytes(bytes), found.notes);
  return found;
}

void expect_refused(const std::string& bytes, const std::string& words) {
  try {
    read(bytes);
    ADD_FAILURE() << "it was read, where \"" << words << "\" is due";
  } catch (const Damaged& damage) {
    EXPECT_NE(std::string(damage.what()).find(words), std::string::npos) << damage.what();
  }
}

/// A file with this header; its checksum is not looked at.
std::string with_header(std::string header, std::size_t data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(data, '\0');
}
std::string with_entries(const std::string& entries, std::size_t data) {
  return with_header(R"({"__metadata__":{"checksum":"0000000000000000"})" + entries + "}", data);
}

TEST(TensorBytes, AreReadAsTheyWereWritten) {
  const std::string bytes = to_bytes(some());
  const TensorFileBytes found = read(bytes);
  EXPECT_EQ(found.notes, some().notes);
  ASSERT_EQ(found.tensors.size(), 3U);
  for (const auto& [name, tensor] : some().tensors) {
    EXPECT_EQ(found.tensors.at(name).type, tensor.type);
    EXPECT_EQ(found.tensors.at(name).shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(found.tensors.at(name).bytes, tensor.bytes)) << name;
  }
}

TEST(TensorBytes, WithAnySingleBitFlippedAreRefused) {
  const std::string bytes = to_bytes(some());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = char(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_THROW(read(changed), Damaged) << "bit " << bit;
  }
}

TEST(TensorBytes, CutOffOrContinuedAreRefused) {
  const std::string bytes = to_bytes(some());
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    EXPECT_THROW(read(bytes.substr(0, kept)), Damaged) << kept;
  }
  expect_refused(bytes + '\0', "whole");
}

TEST(TensorBytes, WithAHeaderThatMakesNoSenseAreRefused) {
  expect_refused(std::string(1000, 'x'), "no file of tensors");
  expect_refused(with_header("{{}", 0), "no JSON text (at byte");
  expect_refused(with_header("[]", 0), "where an object is due");
  expect_refused(with_header("{}", 0), "no \"__metadata__\"");
  expect_refused(with_header(R"({"__metadata__":{}})", 0), "no checksum");
  expect_refused(with_header(R"({"__metadata__":{"a":1}})", 0), "\"a\" 1");
  expect_refused(with_header(std::string(100'000, '['), 0), "nested too deeply");
  expect_refused(with_header(R"({"a":)" + std::string(100'000, '[') + "}", 0), "nested too deeply");
  const std::string one = R"(,"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  expect_refused(with_entries(one, 8), "damaged");
  expect_refused(with_entries(one + one, 8), "\"t\" twice");
  const auto refused = [](const std::string& entry, const char* words) {
    expect_refused(with_entries(",\"t\":" + entry, 8), words);
  };
  refused(R"({"dtype":"F16","shape":[2],"data_offsets":[0,8]})", "a tensor of F16");
  refused(R"({"dtype":3,"shape":[2],"data_offsets":[0,8]})", "\"dtype\" 3");
  refused(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "not where");
  refused(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "\"size\" -2");
  refused(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})", "\"size\" 2.5");
  refused(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", "\"shape\" 2");
  refused(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "not where");
  refused(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", "not where");
  refused(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})", "shape");
  refused(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "beginning and an end");
  refused(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})", "whole");
  refused(R"({"dtype":"F32","shape":[2],"data_offsets":[0,1e999]})", "too large");
  refused(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":0})", "\"x\", which is not known");
  refused(R"({"dtype":"F32","Shape":[2],"data_offsets":[0,8]})", "no \"shape\"");
  refused("7", "an object is due");
}

TEST(TensorBytes, OfImpossibleShapesAreRefusedAndNothingIsAllocatedForThem) {
  const auto refused = [](const std::string& shape, const char* words) {
    expect_refused(
        with_entries(R"(,"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,0]})", 0),
        words);
  };
  refused("[1099511627776]", "not where");
  refused("[4611686018427387904,4]", "impossible");
  refused("[0,4611686018427387904,4611686018427387904]", "impossible");
  refused("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "impossible");
}

TEST(Json, IsReadWithoutTheWordsOfALibrary) {
  const auto refused = [](const std::string& text, const char* words) {
    try {
      read_json(text);
      ADD_FAILURE() << text;
    } catch (const Damaged& damage) {
      EXPECT_EQ(std::string(damage.what()), words);
    }
  };
  refused("", "it is no JSON text (at byte 1)");
  refused("{\"a\":\x1b[31m}", "it is no JSON text (at byte 6)");
  refused("\"\xff\"", "it is no JSON text (at byte 2)");
  refused("1e999", "it has a number that is too large");
  refused(R"({"a":1,"b":{"a":2},"a":3})", "it has \"a\" twice");
  refused(std::string(1'000'000, '['), "it is nested too deeply");
  EXPECT_EQ(read_json(R"({"a":{"a":[1]},"b":{"a":2}})").at("b").at("a"), 2);
}

}  // namespace
}  // namespace syncopate::train

// Files of tensors: the layout that other programs read, and that what is damaged is refused.
#include "train/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "train/temporary_folder.h"

namespace syncopate::train {
namespace {

class TensorFiles : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) const {
    const auto path = folder_.path() / "tensors";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  void expect_refused(const std::string& bytes, const char* words) const {
    try {
      read_tensor_file(write(bytes));
      ADD_FAILURE() << "it was read";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
  /// The bytes of a file with one thing in it changed for another of the same length.
  static std::string edited(std::string bytes, const std::string& from, const std::string& to) {
    const std::size_t place = bytes.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    EXPECT_EQ(from.size(), to.size());
    return bytes.replace(place, from.size(), to);
  }

  testing::TemporaryFolder folder_;
};

const TensorFile kSome{.tensors = {{"a matrix", torch::arange(6).to(torch::kFloat32).view({2, 3})},
                                   {"a number", torch::tensor(std::int64_t{7})},
                                   {"doubles", torch::tensor({0.1, -1e300}, torch::kFloat64)},
                                   {"nothing", torch::empty({0, 4})}},
                       .notes = {{"head", "{\"one\": \"two\"}"}}};

TEST_F(TensorFiles, AreReadAsTheyWereWritten) {
  const auto path = write(to_bytes(kSome));
  const TensorFile read = read_tensor_file(path);
  EXPECT_EQ(read.notes, kSome.notes);
  ASSERT_EQ(read.tensors.size(), kSome.tensors.size());
  for (const auto& [name, tensor] : kSome.tensors) {
    EXPECT_EQ(read.tensors.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(torch::equal(read.tensors.at(name), tensor)) << name;
  }
}

TEST_F(TensorFiles, HaveTheLayoutOfSafetensors) {
  const std::string bytes = to_bytes(kSome);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header.at("__metadata__").at("head"), "{\"one\": \"two\"}");
  const auto& matrix = header.at("a matrix");
  EXPECT_EQ(matrix.at("dtype"), "F32");
  EXPECT_EQ(matrix.at("shape"), nlohmann::json({2, 3}));
  EXPECT_EQ(matrix.at("data_offsets"), nlohmann::json({24, 48})) << "after those of eight bytes";
  EXPECT_EQ(header.at("a number").at("dtype"), "I64");
  EXPECT_EQ(header.at("a number").at("shape"), nlohmann::json::array());
  EXPECT_EQ(header.at("doubles").at("data_offsets"), nlohmann::json({8, 24}));
  EXPECT_EQ(bytes.size(), 8 + length + 48);
  float last = 0;
  std::memcpy(&last, bytes.data() + 8 + length + 44, sizeof last);
  EXPECT_EQ(last, 5);
}

TEST_F(TensorFiles, KeepWhatATensorShowsNotWhatLiesBehindIt) {
  const torch::Tensor matrix = kSome.tensors.at("a matrix");
  const TensorFile read =
      read_tensor_file(write(to_bytes({.tensors = {{"t", matrix.t().slice(0, 1, 3)}}})));
  EXPECT_TRUE(torch::equal(read.tensors.at("t"), matrix.t().slice(0, 1, 3)));
}

TEST_F(TensorFiles, ThatAreNotWholeAreRefused) {
  const std::string bytes = to_bytes(kSome);
  for (const std::size_t kept : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100},
                                 bytes.size() - 49, bytes.size() - 1}) {
    expect_refused(bytes.substr(0, kept), "whole");
  }
  expect_refused(bytes + '\0', "whole");
  EXPECT_THROW(read_tensor_file(folder_.path() / "none"), std::runtime_error);
}

TEST_F(TensorFiles, OfATypeThatTheyCannotHoldAreRefused) {
  const std::string two = to_bytes({.tensors = {{"s", torch::ones({2})}, {"t", torch::ones({2})}}});
  expect_refused(edited(two, "F32", "F16"), "a tensor of F16");
}

TEST_F(TensorFiles, AreNotWrittenWithTensorsThatTheyCannotHold) {
  EXPECT_THROW(to_bytes({.tensors = {{"t", torch::zeros({2}, torch::kBool)}}}), std::runtime_error);
}

}  // namespace
}  // namespace syncopate::train

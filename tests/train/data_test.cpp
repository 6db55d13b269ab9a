// Readers of data sets: what they hand out, and how they refuse what is missing or damaged.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "syncopate/error.h"
#include "train/data/cifar.h"
#include "train/data/crop.h"
#include "train/data/idx.h"
#include "train/made_up.h"

namespace syncopate::train {
namespace {

using testing::idx_bytes;
using testing::TemporaryFolder;
using testing::write_file;

constexpr const char* kFetchAgain = ". Run `make data` to fetch it again.";

void expect_message(const std::function<void()>& call, const std::string& message) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.what(), message);
    return;
  }
  ADD_FAILURE() << "nothing was thrown where this was due: " << message;
}

class IdxFiles : public ::testing::Test {
 protected:
  IdxFiles() { testing::write_idx(folder_.path(), "train", 20); }

  std::string images() const { return (folder_.path() / "train-images-idx3-ubyte").string(); }
  std::string labels() const { return (folder_.path() / "train-labels-idx1-ubyte").string(); }

  void expect_refused(const std::string& what_is_wrong) {
    expect_message([&] { read_idx(folder_.path(), "train"); }, what_is_wrong + kFetchAgain);
  }

  TemporaryFolder folder_;
};

TEST_F(IdxFiles, AreReadInFull) {
  const Images read = read_idx(folder_.path(), "train");
  EXPECT_EQ(read.count(), 20);
  EXPECT_EQ(read.channels, 1);
  EXPECT_EQ(read.side, 28);
  ASSERT_EQ(read.pixels.size(), 20U * 28 * 28);
  EXPECT_EQ(read.labels[13], 3);
  EXPECT_EQ(read.pixels[13 * 784 + 6 * 28], 255) << "the row that tells class 3";
}

TEST_F(IdxFiles, MissingAreNamedWithTheWayToGetThem) {
  const std::string remedy =
      ". Run `make data` to fetch the data sets, or name the folder that holds them with --data.";
  expect_message([&] { read_idx(folder_.path() / "mnist", "train"); },
                 "there is no folder " + (folder_.path() / "mnist").string() + remedy);
  std::filesystem::remove(labels());
  expect_message([&] { read_idx(folder_.path(), "train"); },
                 "there is no file " + labels() + remedy);
}

TEST_F(IdxFiles, OfAnotherKindAreRefused) {
  write_file(images(), idx_bytes({0x801, 20, 28, 28}, 20 * 784));
  expect_refused(images() + " begins with 0x0801, where a file of its kind begins with 0x0803");
  write_file(images(), idx_bytes({0x803, 20, 32, 28}, 20 * 32 * 28));
  expect_refused(images() + " has images with a side of 32, where 28 is due");
}

TEST_F(IdxFiles, CutOffOrTooLongAreRefused) {
  write_file(images(), idx_bytes({0x803, 20, 28, 28}, 19 * 784));
  expect_refused(images() + " has 14912 bytes, where its 20 entries need 15696");
  write_file(images(), idx_bytes({0x803, 20, 28, 28}, 20 * 784 + 1));
  expect_refused(images() + " has 15697 bytes, where its 20 entries need 15696");
  write_file(images(), idx_bytes({0x803}, 0));
  expect_refused(images() + " has 4 bytes, where its header alone has 16");
  write_file(images(), idx_bytes({0x803, 0, 28, 28}, 0));
  expect_refused(images() + " is empty");
}

TEST_F(IdxFiles, WithWrongLabelsAreRefused) {
  write_file(labels(), idx_bytes({0x801, 19}, 19));
  expect_refused(labels() + " has 19 labels for 20 images");
  testing::Bytes bytes = idx_bytes({0x801, 20}, 0);
  bytes.resize(8 + 20);
  bytes[8 + 17] = 10;
  write_file(labels(), bytes);
  expect_refused(labels() + ": label 17 is 10, where 0 to 9 are allowed");
}

TEST(CifarFiles, AreReadFromTheFolderOrTheOneAboveIt) {
  const TemporaryFolder folder;
  const auto inner = folder.path() / "cifar-10-batches-bin";
  testing::write_cifar(inner);
  for (const auto& data : {folder.path(), inner}) {
    const Images train = read_cifar_train(data);
    EXPECT_EQ(train.count(), 50000);
    EXPECT_EQ(train.pixels.size(), 50000U * 3 * 32 * 32);
    EXPECT_EQ(train.labels[40000], 7);
    EXPECT_EQ(train.pixels[40000 * 3072 + 99], std::uint8_t(100 * 100 / 7));
    EXPECT_EQ(read_cifar_test(data).count(), 10000);
  }
}

TEST(CifarFiles, MissingOrDamagedAreRefused) {
  const TemporaryFolder folder;
  const auto inner = folder.path() / "cifar-10-batches-bin";
  expect_message([&] { read_cifar_test(folder.path()); },
                 "there is no folder " + inner.string() +
                     ". Download the binary version (cifar-10-binary.tar.gz) from "
                     "https://www.cs.toronto.edu/~kriz/cifar.html, unpack it, and name its folder "
                     "with --data.");

  const std::string remedy =
      ". Unpack cifar-10-binary.tar.gz again; if that does not help, download it again.";
  write_file(inner / "test_batch.bin", testing::Bytes(3073));
  expect_message([&] { read_cifar_test(folder.path()); },
                 (inner / "test_batch.bin").string() +
                     " has 3073 bytes, where 10000 images of CIFAR-10 need 30730000" + remedy);

  testing::Bytes bytes(30730000);
  bytes[3073 * 5] = 11;
  write_file(inner / "test_batch.bin", bytes);
  expect_message(
      [&] { read_cifar_test(folder.path()); },
      (inner / "test_batch.bin").string() + ": label 5 is 11, where 0 to 9 are allowed" + remedy);
}

class Cropped : public ::testing::Test {
 protected:
  Cropped() {
    images_.labels = {0};
    images_.pixels = idx_bytes({}, images_.bytes_each());
    for (auto& pixel : images_.pixels) pixel |= 1;  // Black is what comes from outside, then.
  }

  /// Moved down and right by this much, and mirrored or not.
  testing::Bytes crop(int down, int right, bool mirrored) const {
    std::uint64_t random = mirrored ? std::uint64_t{1} << 63 : 0;
    while (int(random % 9) != down + 4 || int(random / 9 % 9) != right + 4) ++random;
    testing::Bytes result(images_.bytes_each());
    crop_and_flip(images_, 0, random, result.data());
    return result;
  }

  std::uint8_t pixel(int plane, int y, int x) const {
    if (y < 0 || x < 0 || y >= 5 || x >= 5) return 0;
    return images_.pixels[(plane * 5 + y) * 5 + x];
  }

  Images images_{.channels = 2, .side = 5};
};

TEST_F(Cropped, PicturesAreMovedAndMirrored) {
  EXPECT_EQ(crop(0, 0, false), images_.pixels);
  for (const int down : {-4, -1, 0, 2, 4}) {
    for (const int right : {-4, 0, 1, 4}) {
      for (const bool mirrored : {false, true}) {
        const testing::Bytes result = crop(down, right, mirrored);
        for (int i = 0; i < 50; ++i) {
          const int x = mirrored ? 4 - i % 5 : i % 5;
          ASSERT_EQ(result[i], pixel(i / 25, i / 5 % 5 + down, x + right))
              << down << " " << right << " " << mirrored << " at " << i;
        }
      }
    }
  }
}

TEST(RealData, HoldsEveryClassEquallyAndNoTestPictureInTraining) {
  const auto data = testing::real_data("fashion");
  if (data.empty()) GTEST_SKIP() << "run `make data` to have the real data sets";
  const Images train = read_idx(data / "fashion", "train");
  const Images test = read_idx(data / "fashion", "t10k");
  ASSERT_EQ(train.count(), 60000);
  ASSERT_EQ(test.count(), 10000);
  const auto picture = [](const Images& images, std::int64_t number) {
    const auto* begin = images.pixels.data() + number * images.bytes_each();
    return std::string_view(reinterpret_cast<const char*>(begin), images.bytes_each());
  };
  std::set<std::string_view> trained;
  std::vector<int> counts(kImageClasses);
  for (std::int64_t i = 0; i < train.count(); ++i) {
    trained.insert(picture(train, i));
    ++counts[train.labels[i]];
  }
  EXPECT_EQ(counts, std::vector<int>(kImageClasses, 6000));
  EXPECT_LT(trained.size(), 60000U) << "copies are kept, in training";
  for (std::int64_t i = 0; i < test.count(); ++i) {
    ASSERT_FALSE(trained.contains(picture(test, i))) << "test picture " << i;
  }
}

}  // namespace
}  // namespace syncopate::train

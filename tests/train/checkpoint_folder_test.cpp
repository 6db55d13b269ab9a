// A new checkpoint takes the place of the old one, and what a death in between leaves is completed.
#include "train/checkpoint_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "syncopate/error.h"
#include "train/durable_file.h"
#include "train/temporary_folder.h"

namespace syncopate::testing {
namespace {

namespace fs = std::filesystem;
using train::checkpoint_of;
using train::part;

/// A checkpoint of two ranks with this content, of which nothing has taken its place yet.
ino_t write_parts(const fs::path& run, const std::string& content) {
  train::begin_checkpoint(run);
  const ino_t mine = train::write_part(run, 0, content);
  train::write_part(run, 1, content);
  return mine;
}

void save(const fs::path& run, const std::string& content) {
  train::complete_checkpoint(run, {0, 1}, 0, write_parts(run, content));
}

void expect_checkpoint(const fs::path& run, const std::string& content) {
  EXPECT_TRUE(train::has_checkpoint(run));
  train::settle_checkpoint(run);
  EXPECT_EQ(train::parts_in(checkpoint_of(run)), (std::vector<int>{0, 1}));
  for (const int rank : {0, 1}) EXPECT_EQ(text_of(part(checkpoint_of(run), rank)), content);
  EXPECT_FALSE(fs::exists(run / "checkpoint.old"));
}

TEST(CheckpointFolder, HoldsTheLastThatWasSaved) {
  const TemporaryFolder run;
  EXPECT_FALSE(train::has_checkpoint(run.path()));
  save(run.path(), "first");
  expect_checkpoint(run.path(), "first");
  save(run.path(), "second");
  expect_checkpoint(run.path(), "second");
  EXPECT_FALSE(fs::exists(run.path() / "checkpoint.new"));
}

TEST(CheckpointFolder, IsTheOldOneUntilTheNewOneIsComplete) {
  const TemporaryFolder run;
  save(run.path(), "first");
  write_parts(run.path(), "second");
  expect_checkpoint(run.path(), "first");
}

TEST(CheckpointFolder, IsFoundBetweenTwoRenames) {
  const TemporaryFolder run;
  save(run.path(), "first");
  write_parts(run.path(), "second");
  fs::rename(run.path() / "checkpoint", run.path() / "checkpoint.old");
  expect_checkpoint(run.path(), "first");  // The list of the new one is not there.

  save(run.path(), "second");
  fs::rename(run.path() / "checkpoint", run.path() / "checkpoint.new");
  fs::create_directory(run.path() / "checkpoint.old");
  expect_checkpoint(run.path(), "second");
}

TEST(CheckpointFolder, TheFirstOneCountsWhenItIsWhole) {
  const TemporaryFolder run;
  write_parts(run.path(), "first");
  train::settle_checkpoint(run.path());
  EXPECT_FALSE(train::has_checkpoint(run.path()));
  EXPECT_TRUE(train::was_interrupted_in_first_checkpoint(run.path()));
  train::replace_file(run.path() / "checkpoint.new" / "parts.json", R"({"ranks":[0,1]})");
  expect_checkpoint(run.path(), "first");
}

TEST(CheckpointFolder, IsCompletedByAnotherRankIfOneDies) {
  const TemporaryFolder run;
  save(run.path(), "first");
  const ino_t mine = write_parts(run.path(), "second");
  train::complete_checkpoint(run.path(), {0, 1}, 0, mine);
  train::complete_checkpoint(run.path(), {0, 1}, 0, mine);  // All was done before it died.
  expect_checkpoint(run.path(), "second");
}

TEST(CheckpointFolder, LeavesOutWhatADeadRankHadBegunToWrite) {
  const TemporaryFolder run;
  const ino_t mine = write_parts(run.path(), "first");
  train::complete_checkpoint(run.path(), {0}, 0, mine);
  EXPECT_EQ(train::parts_in(checkpoint_of(run.path())), std::vector<int>{0});
  EXPECT_FALSE(fs::exists(part(checkpoint_of(run.path()), 1)));
}

TEST(CheckpointFolder, NamesAPartThatIsMissing) {
  const TemporaryFolder run;
  save(run.path(), "first");
  fs::remove(part(checkpoint_of(run.path()), 1));
  try {
    train::parts_in(checkpoint_of(run.path()));
    FAIL() << "a part is missing";
  } catch (const Error& error) {
    EXPECT_NE(error.what_happened().find("rank-1.safetensors is missing"), std::string::npos);
  }
}

TEST(CheckpointFolder, RefusesAListThatMakesNoSense) {
  for (const char* list : {"", "{", "[0,1]", R"({"ranks":[]})", R"({"ranks":[-1]})",
                           R"({"ranks":["0"]})", R"({"ranks":[99999999999]})"}) {
    const TemporaryFolder run;
    save(run.path(), "first");
    train::replace_file(checkpoint_of(run.path()) / "parts.json", list);
    EXPECT_THROW(train::parts_in(checkpoint_of(run.path())), Error) << list;
  }
}

TEST(CheckpointFolder, OfAnOlderVersionHasThePartsThatAreThere) {
  const TemporaryFolder run;
  save(run.path(), "first");
  fs::remove(checkpoint_of(run.path()) / "parts.json");
  expect_checkpoint(run.path(), "first");
}

TEST(DurableFile, IsReplacedAsAWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  train::replace_file(file, "first");
  {
    train::Replacement second(file);
    second.write("second");
    EXPECT_EQ(text_of(file), "first");
  }
  EXPECT_FALSE(fs::exists(folder.path() / "file.new"));
  train::Replacement third(file);
  third.write("th");
  third.write("ird");
  third.take_place();
  EXPECT_EQ(text_of(file), "third");
}

TEST(DurableFile, ALimitOnItsSizeIsAnErrorAndNotTheEndOfTheProcess) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  train::replace_file(file, "first");
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 1024, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(train::replace_file(file, std::string(2048, 'x')), std::system_error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(text_of(file), "first");
  EXPECT_FALSE(fs::exists(folder.path() / "file.new"));
}

TEST(DurableFile, FoldersAreMadeDownToTheLast) {
  const TemporaryFolder folder;
  train::make_folders(folder.path() / "a" / "b" / "c");
  train::make_folders(folder.path() / "a" / "b" / "c");
  EXPECT_TRUE(fs::is_directory(folder.path() / "a" / "b" / "c"));
  EXPECT_THROW(train::make_folders("/dev/null/a"), std::system_error);
}

}  // namespace
}  // namespace syncopate::testing

// Code is loaded only from where strangers cannot have put it.
#include "fabric/own_code.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fabric/plugin.h"
#include "support/refusal.h"
#include "train/temporary_folder.h"

namespace syncopate::testing {
namespace {

namespace fs = std::filesystem;
using fabric::Chosen;

constexpr uid_t kStranger = 54321;
constexpr const char* kVariable = "SYNCOPATE_TEST_CODE";

/// Below a folder of this user alone: lib/code, a folder and a file in it.
class OwnCode : public ::testing::Test {
 protected:
  OwnCode() : folder_(root_.path() / "lib"), file_(folder_ / "code") {
    fs::create_directory(folder_);
    std::ofstream(file_) << "code";
    allow(folder_, 0755);
    allow(file_, 0755);
  }
  static void allow(const fs::path& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0); }
  static bool give(const fs::path& path, uid_t user, gid_t group) {
    return chown(path.c_str(), user, group) == 0;
  }
  void expect_taken(Chosen chosen = Chosen::by_us) const {
    EXPECT_NO_THROW(fabric::refuse_unless_safe("plug-in", file_, chosen, kVariable));
  }
  void expect_not_taken(const std::vector<std::string>& words,
                        Chosen chosen = Chosen::by_us) const {
    expect_refused(ErrorCode::environment, words,
                   [&] { fabric::refuse_unless_safe("plug-in", file_, chosen, kVariable); });
  }

  TemporaryFolder root_;
  fs::path folder_;
  fs::path file_;
};

TEST_F(OwnCode, WhatOnlyThisUserCanWriteIsTaken) { expect_taken(); }

TEST_F(OwnCode, AFileThatAllCanWriteIsRefused) {
  allow(file_, 0757);
  expect_not_taken({"all users can write to", file_.string(), "chmod"});
  expect_not_taken({"all users can write to"}, Chosen::by_the_user);
}

TEST_F(OwnCode, AFileInAFolderThatAllCanWriteIsRefused) {
  for (const mode_t mode : {0777, 01777}) {
    allow(folder_, mode);
    expect_not_taken({"all users can write to " + folder_.string(), "as others can change it"});
    expect_not_taken({"all users can write to"}, Chosen::by_the_user);
  }
}

TEST_F(OwnCode, AFolderFurtherUpMayBeSharedIfItIsSticky) {
  allow(root_.path(), 0777);
  expect_not_taken({"all users can write to " + root_.path().string()});
  allow(root_.path(), 01777);
  expect_taken();
}

TEST_F(OwnCode, ALinkCountsAsWhatItLeadsTo) {
  const fs::path link = root_.path() / "link";
  fs::create_symlink(file_, link);
  EXPECT_NO_THROW(fabric::refuse_unless_safe("plug-in", link, Chosen::by_us, kVariable));
  allow(folder_, 0777);
  expect_refused(ErrorCode::environment, {"all users"},
                 [&] { fabric::refuse_unless_safe("plug-in", link, Chosen::by_us, kVariable); });
}

TEST_F(OwnCode, AnotherUsersFileIsTakenOnlyIfTheFolderWasNamed) {
  if (!give(file_, kStranger, kStranger)) GTEST_SKIP() << "only root can give files away";
  expect_not_taken({"belongs to user 54321", kVariable});
  expect_taken(Chosen::by_the_user);
}

TEST_F(OwnCode, AnotherUsersFolderIsTakenOnlyIfItWasNamed) {
  if (!give(folder_, kStranger, 0)) GTEST_SKIP() << "only root can give folders away";
  expect_not_taken({folder_.string() + " belongs to user 54321"});
  expect_taken(Chosen::by_the_user);
}

TEST_F(OwnCode, AForeignGroupThatCanWriteIsTrustedOnlyIfTheFolderWasNamed) {
  if (!give(folder_, geteuid(), kStranger)) GTEST_SKIP() << "only root can give folders away";
  expect_taken();
  allow(folder_, 02775);
  expect_not_taken({"group 54321 can write to " + folder_.string(), kVariable});
  expect_taken(Chosen::by_the_user);
}

TEST_F(OwnCode, AVariableNamesAFolderFromTheRootOn) {
  setenv(kVariable, folder_.c_str(), 1);
  EXPECT_EQ(fabric::code_folder_from_environment(kVariable), folder_ / "");
  for (const char* relative : {"lib", ".", "./lib", "../lib"}) {
    setenv(kVariable, relative, 1);
    expect_refused(ErrorCode::environment, {kVariable, relative, "from the root on"},
                   [] { fabric::code_folder_from_environment(kVariable); });
  }
  setenv(kVariable, "", 1);
  EXPECT_FALSE(fabric::code_folder_from_environment(kVariable));
  unsetenv(kVariable);
  EXPECT_FALSE(fabric::code_folder_from_environment(kVariable));
}

TEST_F(OwnCode, TheWorkingDirectoryIsNotInThePath) {
  const fs::path before = fs::current_path();
  const std::string path = getenv("PATH");
  fs::current_path(folder_);
  for (const char* relative : {"", ":", ".", ":/nowhere:", "../lib", "/nowhere::."}) {
    setenv("PATH", relative, 1);
    EXPECT_FALSE(fabric::find_in_path("code")) << relative;
  }
  setenv("PATH", (".:" + folder_.string()).c_str(), 1);
  EXPECT_EQ(fabric::find_in_path("code"), file_);
  fs::current_path(before);
  setenv("PATH", path.c_str(), 1);
}

TEST_F(OwnCode, IsKnownByTheKernelAndNotByTheNameItWasCalledBy) {
  const fs::path before = fs::current_path();
  const fs::path program = fs::canonical("/proc/self/exe");
  // A file of the program's name where a relative name would be looked for.
  std::ofstream(folder_ / program.filename()) << "not the program";
  fs::current_path(folder_);
  const auto files = fabric::own_files();
  fs::current_path(before);
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    EXPECT_TRUE(file.is_absolute()) << file;
    EXPECT_NE(file.parent_path(), fs::canonical(folder_));
  }
  EXPECT_EQ(files.back(), program);
}

}  // namespace
}  // namespace syncopate::testing

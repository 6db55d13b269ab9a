// What lies beside the program is started only if strangers cannot have put it there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "process/launcher_script.h"
#include "process/program.h"
#include "train/temporary_folder.h"

namespace syncopate::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 54321;

/// A copy of the program, and a program of the name of ours for training beside it.
class BesideTheProgram : public ::testing::Test {
 protected:
  BesideTheProgram() {
    fs::create_directory(folder_);
    fs::copy_file(SYNCOPATE_CLI_PATH, program_);
    std::ofstream(training_) << "#!/bin/sh\n: > " << ran_.string() << "\n";
    fs::permissions(training_, fs::perms(0755));
    fs::permissions(folder_, fs::perms(0755));
  }
  void expect_started() {
    EXPECT_EQ(call(), "");
    EXPECT_TRUE(fs::exists(ran_));
  }
  void expect_refused(const std::string& words) {
    const std::string said = call();
    EXPECT_TRUE(has(said, "the program " + training_.string() + " is not used")) << said;
    EXPECT_TRUE(has(said, words)) << said;
    EXPECT_FALSE(fs::exists(ran_));
  }

  TemporaryFolder root_;
  const fs::path folder_ = root_.path() / "bin";
  const fs::path program_ = folder_ / "syncopate", training_ = folder_ / "syncopate-train";
  const fs::path ran_ = root_.path() / "ran";

 private:
  std::string call() {
    fs::remove(ran_);
    Program program({program_.string(), "train", "--workload", "hyperplane"});
    const bool well = program.wait() == 0;
    EXPECT_EQ(well, fs::exists(ran_)) << program.err();
    return program.err();
  }
};

TEST_F(BesideTheProgram, OurOwnIsStarted) { expect_started(); }

TEST_F(BesideTheProgram, OneThatAllCanWriteIsNotStarted) {
  fs::permissions(training_, fs::perms(0757));
  expect_refused("all users can write to " + training_.string());
}

TEST_F(BesideTheProgram, OneThatAnotherUserHasAddedIsNotStarted) {
  if (chown(training_.c_str(), kStranger, kStranger) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  fs::permissions(folder_, fs::perms(01777));
  expect_refused("belongs to user 54321");
}

}  // namespace
}  // namespace syncopate::testing

// A run directory that another has made: resuming it changes no file outside of it, prints nothing
// that does something on a terminal, and takes no memory for what a file only claims.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "train/train_program.h"

namespace syncopate::testing {
namespace {

/// A run that can go on, and beside it a file and a folder of the user.
class ForeignRun : public ::testing::Test {
 protected:
  void SetUp() override {
    // One training for all tests, each of which harms a copy of its run.
    static const TemporaryFolder trained;
    static const int code = run(training(trained.path(), {"-n", "1", "--until", "rounds:2"})).code;
    ASSERT_EQ(code, 0);
    fs::copy(fs::canonical(trained.path() / "latest"), run_, fs::copy_options::recursive);
    fs::create_directory(precious());
    std::ofstream(victim()) << "mine";
    std::ofstream(precious() / "rank-0.safetensors") << "mine";
  }
  fs::path victim() const { return folder_.path() / "victim"; }
  fs::path precious() const { return folder_.path() / "precious"; }

  Ended resume() const { return run(command("train", {"--resume", run_, "--until", "rounds:4"})); }
  void expect_unharmed() const {
    EXPECT_EQ(text_of(victim()), "mine");
    EXPECT_EQ(text_of(precious() / "rank-0.safetensors"), "mine");
    EXPECT_EQ(std::distance(fs::directory_iterator(precious()), fs::directory_iterator()), 1);
  }
  void expect_refusal(const std::string& words) const {
    const Ended ended = resume();
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_TRUE(has(ended.err, words)) << ended.err;
    expect_unharmed();
  }

  TemporaryFolder folder_;
  const fs::path run_ = folder_.path() / "run";
};

TEST_F(ForeignRun, WritesThroughNoLink) {
  const char* names[] = {"config.json.new", "metrics.jsonl.new", "model.safetensors.new",
                         "result.json.new", "model.safetensors", "result.json.earlier"};
  for (const char* name : names) {
    fs::remove(run_ / name);
    fs::create_symlink(victim(), run_ / name);
  }
  const Ended ended = resume();
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_unharmed();
}

TEST_F(ForeignRun, RefusesAFileThatIsALink) {
  for (const char* name : {"config.json", "checkpoint/rank-0.safetensors", "metrics.jsonl"}) {
    SCOPED_TRACE(name);
    const fs::path aside = folder_.path() / "aside";
    fs::rename(run_ / name, aside);
    fs::create_symlink(aside, run_ / name);
    expect_refusal(fs::path(name).filename().string() +
                   " cannot be read: it is a symbolic link, where a file is due");
    fs::remove(run_ / name);
    fs::rename(aside, run_ / name);
  }
}

TEST_F(ForeignRun, MakesNoFileWhereALinkOfMetricsLeads) {
  fs::remove(run_ / "metrics.jsonl");
  fs::create_symlink(precious() / "new", run_ / "metrics.jsonl");
  expect_refusal("metrics.jsonl");
}

TEST_F(ForeignRun, RefusesAListOfPartsThatIsALink) {
  fs::rename(run_ / "checkpoint" / "parts.json", folder_.path() / "aside");
  fs::create_symlink(folder_.path() / "aside", run_ / "checkpoint" / "parts.json");
  expect_refusal("parts.json cannot be read");
}

TEST_F(ForeignRun, RefusesACheckpointThatIsALink) {
  for (const char* name : {"checkpoint.new", "checkpoint.old"}) {
    for (const fs::path& to : {precious(), folder_.path() / "nowhere"}) {
      fs::create_symlink(to, run_ / name);
      expect_refusal(std::string(name) + " is a symbolic link, where a folder is due");
      fs::remove(run_ / name);
    }
  }
  fs::rename(run_ / "checkpoint", folder_.path() / "aside");
  fs::create_directory_symlink(folder_.path() / "aside", run_ / "checkpoint");
  expect_refusal("checkpoint is a symbolic link, where a folder is due");
}

TEST_F(ForeignRun, LeavesAFileAloneThatItsLockIsAnotherNameOf) {
  fs::remove(run_ / "lock");
  fs::create_hard_link(victim(), run_ / "lock");
  const auto before = fs::status(victim()).permissions();
  EXPECT_EQ(resume().code, 0);
  expect_unharmed();
  EXPECT_EQ(fs::status(victim()).permissions(), before);
}

TEST_F(ForeignRun, PrintsNoTerminalEscapes) {
  auto config = json_of(run_ / "config.json");
  config["imbalance"] = "trace:" + folder_.path().string() + "/\x1b[31mred";
  std::ofstream(run_ / "config.json") << config;
  std::ofstream(folder_.path() / "\x1b[31mred") << "1ms\n";
  const Ended ended = resume();
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "where a text without control characters is due")) << ended.err;
  EXPECT_FALSE(has(ended.out + ended.err, "\x1b"));
}

TEST_F(ForeignRun, TakesNoMemoryForWhatAFileOnlyClaims) {
  const fs::path part = run_ / "checkpoint" / "rank-0.safetensors";
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 42;
  // A file of nothing but a hole, and one whose header is in order and tells of it.
  fs::resize_file(part, kHuge);
  expect_refusal("rank-0.safetensors cannot be read: it is not whole");
  std::string header = R"({"__metadata__":{},"weights":{"dtype":"F32","shape":[)" +
                       std::to_string(kHuge / 4) + R"(],"data_offsets":[0,)" +
                       std::to_string(kHuge) + "]}}";
  const std::uint64_t length = header.size();
  std::ofstream(part, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), sizeof length) << header;
  fs::resize_file(part, sizeof length + length + kHuge);
  expect_refusal("its tensor \"weights\" has " + std::to_string(kHuge / 4) +
                 " values, which is more than are due");
}

TEST_F(ForeignRun, WaitsForNoPipe) {
  for (const char* name : {"checkpoint/parts.json", "metrics.jsonl"}) {
    SCOPED_TRACE(name);
    const fs::path aside = folder_.path() / "aside";
    fs::rename(run_ / name, aside);
    ASSERT_EQ(::mkfifo((run_ / name).c_str(), 0600), 0);
    expect_refusal("cannot be read");
    fs::remove(run_ / name);
    fs::rename(aside, run_ / name);
  }
}

}  // namespace
}  // namespace syncopate::testing

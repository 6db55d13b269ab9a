// At every write, sync and rename of a run the disk may be full, faulty or interrupted, or the
// process dies. The run then ends with a sentence, and goes on from its last checkpoint to the same
// model.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <set>

#include "disk/small_training.h"

namespace syncopate::testing {
namespace {

struct Fault {
  const char* name;
  std::string kind;  ///< For DISK_FAIL, after the number of the call.
  enum class Victim { none, one, all } victim = Victim::none;
  bool harmless = false;  ///< The system may do that at any time: the training has to go on.
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"an input/output error", ":" + std::to_string(EIO)},
      {"the death of all", ":halt", Fault::Victim::all},
      {"a full disk", "+:" + std::to_string(ENOSPC)},
      {"the death of one", ":kill", Fault::Victim::one},
      {.name = "an interruption", .kind = ":" + std::to_string(EINTR), .harmless = true},
      {"the death of all in the middle", ":torn", Fault::Victim::all},
      {.name = "a short write", .kind = ":short", .harmless = true}};
  return all;
}

/// The model that comes out if nothing happens.
const std::string& undisturbed() {
  static const std::string model = [] {
    const TemporaryFolder folder(quick_place());
    run(small_training(folder.path()));
    return text_of(folder.path() / "latest" / "model.safetensors");
  }();
  return model;
}

/// What the program said, if it is one or more whole sentences of ours.
void expect_sentence(const std::string& text) {
  EXPECT_TRUE(has(text, "syncopate: ")) << text;
  // Beside the error, which has an end, there may be warnings and what became of a rank.
  std::istringstream lines(text);
  int errors = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("syncopate: ")) << text;
    errors += line.ends_with('.') ? 1 : 0;
  }
  EXPECT_GE(errors, 1) << text;
  EXPECT_TRUE(text.ends_with('\n')) << text;
  for (const char* alien : {"json.exception", "terminate called", "what():"}) {
    EXPECT_FALSE(has(text, alien)) << text;
  }
}

void expect_end(const Ended& ended, const fs::path& runs, const Fault& fault) {
  if (fault.harmless) {
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  if (ended.code == 0) {
    const auto directory = run_in(runs);
    ASSERT_TRUE(directory);
    EXPECT_EQ(text_of(*directory / "model.safetensors") == undisturbed(), true) << "another model";
    return;
  }
  if (fault.victim == Fault::Victim::one || fault.victim == Fault::Victim::all) {
    // A rank, the process that looks after them, or the one that started it.
    EXPECT_TRUE(ended.code == 128 + SIGKILL || ended.code == -SIGKILL) << ended.code << ended.err;
  } else {
    EXPECT_TRUE(ended.code == 1 || ended.code == 2) << ended.code << ": " << ended.err;
    expect_sentence(ended.err);
  }
}

/// `exactly`: to the same model.
void expect_to_go_on(const fs::path& runs, bool saved, bool exactly) {
  const auto directory = run_in(runs);
  if (!directory) {
    EXPECT_FALSE(saved) << "there is no run any more";
    return;
  }
  const Ended ended = run(command("train", {"--resume", *directory}));
  if (has(ended.err, "has no checkpoint")) {
    EXPECT_FALSE(saved) << ended.err;
    EXPECT_EQ(ended.code, 2);
    return;
  }
  if (has(ended.err, "is past the end")) {
    EXPECT_TRUE(fs::exists(*directory / "result.json"));
  } else {
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  if (exactly) {
    EXPECT_EQ(text_of(*directory / "model.safetensors") == undisturbed(), true) << "another model";
  } else {
    EXPECT_GE(json_of(*directory / "result.json").at("rounds"), 6);
    EXPECT_EQ(saved_weights(*directory, 0), saved_weights(*directory, 1));
  }
  for (const char* left :
       {"checkpoint.old", "checkpoint.new", "config.json.new", "result.json.new"}) {
    EXPECT_FALSE(fs::exists(*directory / left)) << left;
  }
}

void disturb(long call, const Fault& fault, bool plain) {
  const Bench bench(plain);
  const Ended ended = bench.train(std::to_string(call) + fault.kind);
  const Strings record = bench.record();
  SCOPED_TRACE(std::string(fault.name) + " at call " + std::to_string(call) + " of " +
               std::to_string(record.size()) + (plain ? ", without exchanging names" : ""));
  expect_end(ended, bench.runs(), fault);
  if (ended.code == 0) return;
  // When a rank has died, the other ends the run with a step of its own.
  const bool exactly = ended.code != 128 + SIGKILL;
  expect_to_go_on(bench.runs(), std::ranges::any_of(record, takes_place), exactly);
}

/// One call of each kind: a call and the file that it is about, without the name of the run.
std::string kind_of(const std::string& line) {
  std::istringstream words(line);
  std::string call, name;
  words >> call >> name;
  const fs::path path(name);
  const auto parent = path.parent_path().filename().string();
  return call + " " + (parent.starts_with("checkpoint") ? parent + "/" : "") +
         (path.filename().string().starts_with("20") ? "RUN" : path.filename().string());
}

class DiskFaults : public ::testing::TestWithParam<bool> {};

TEST_P(DiskFaults, EndWithASentenceAndLeaveARunThatGoesOnToTheSameModel) {
  const bool plain = GetParam();
  ASSERT_FALSE(undisturbed().empty());
  const Bench bench(plain);
  ASSERT_EQ(bench.train().code, 0);
  const Strings record = bench.record();
  ASSERT_EQ(std::ranges::count_if(record, takes_place), kCheckpoints);
  const bool all = std::getenv("SYNCOPATE_DISK_FAULTS_ALL") != nullptr;
  std::set<std::string> seen;
  std::size_t turn = 0;
  // From the end, where there are checkpoints to lose.
  for (long call = long(record.size()); call > 0; --call) {
    if (all) {
      for (const Fault& fault : faults()) disturb(call, fault, plain);
      continue;
    }
    const std::string kind = kind_of(record[std::size_t(call) - 1]);
    // Where names cannot be exchanged, only what differs from the rest.
    const bool differs = has(kind, "checkpoint") || has(kind, "RUN");
    if (has(kind, "rank-1") || (plain && !differs) || !seen.insert(kind).second) continue;
    // Every second kind, so that it does not take long; the others where names are exchanged.
    if (++turn % 2 == (plain ? 0 : 1)) disturb(call, faults()[turn / 2 % faults().size()], plain);
  }
}

INSTANTIATE_TEST_SUITE_P(FileSystem, DiskFaults, ::testing::Bool(), [](const auto& plain) {
  return plain.param ? "WithoutExchange" : "WithExchange";
});

TEST_P(DiskFaults, ThatTheSystemMayMakeAtAnyTimeCostNothing) {
  for (const Fault& fault : faults()) {
    if (!fault.harmless) continue;
    const Bench bench(GetParam());
    // Every call at once: `make disk` tells which.
    const Ended ended = bench.train("each" + fault.kind);
    SCOPED_TRACE(std::string(fault.name) + " at every call");
    expect_end(ended, bench.runs(), fault);
    const Strings record = bench.record();
    EXPECT_EQ(std::ranges::count_if(record, takes_place), kCheckpoints);
    const auto failed = std::ranges::count_if(
        record, [](const std::string& line) { return line.starts_with("failed "); });
    EXPECT_TRUE(has(fault.kind, "short") || failed >= long(record.size()) / 3)
        << failed << " of " << record.size() << " calls were interrupted";
  }
}

TEST(DiskFault, AFirstCheckpointThatCannotTakeItsPlacePromisesNoOther) {
  const Bench undisturbed_bench;
  ASSERT_EQ(undisturbed_bench.train().code, 0);
  const Strings record = undisturbed_bench.record();
  const long rename = long(std::ranges::find_if(record, takes_place) - record.begin()) + 1;
  // The rename itself, and the sync of the folder after it.
  ASSERT_TRUE(record[std::size_t(rename)].starts_with("sync ")) << record[std::size_t(rename)];
  for (const long call : {rename, rename + 1}) {
    const Bench bench;
    const Ended ended = bench.train(std::to_string(call) + ":" + std::to_string(EIO));
    EXPECT_EQ(ended.code, 1);
    EXPECT_TRUE(has(ended.err, "the run has no other checkpoint yet")) << ended.err;
    EXPECT_FALSE(has(ended.err, "is unharmed")) << ended.err;
  }
}

TEST(DiskFault, AFullDiskForMetricsIsOneWarningAndTheTrainingGoesOn) {
  const Bench bench;
  const Ended ended = bench.train("write metrics.jsonl:" + std::to_string(ENOSPC));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string warning = "lines are missing in ";
  EXPECT_TRUE(has(ended.err, warning)) << ended.err;
  EXPECT_EQ(ended.err.find(warning), ended.err.rfind(warning)) << ended.err;
  EXPECT_EQ(text_of(bench.runs() / "latest" / "model.safetensors") == undisturbed(), true);
}

TEST(DiskFault, AFirstCheckpointThatCannotBeWrittenPromisesNoOther) {
  const Bench bench;
  const Ended ended = bench.train("sync parts.json:" + std::to_string(EIO));
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(has(ended.err, "parts.json: Input/output error")) << ended.err;
  EXPECT_TRUE(has(ended.err, "the run has no other checkpoint yet")) << ended.err;
  EXPECT_FALSE(has(ended.err, "is unharmed")) << ended.err;
  EXPECT_FALSE(fs::exists(bench.runs() / "latest" / "checkpoint.new")) << "its room is free";
}

}  // namespace
}  // namespace syncopate::testing

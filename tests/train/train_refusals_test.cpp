// What is wrong is said in a sentence, before any rank starts and before anything is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "train/bytes.h"
#include "train/tensor_bytes.h"
#include "train/train_program.h"

namespace syncopate::testing {
namespace {

/// What was asked for is wrong.
constexpr int kRefused = 2;
/// It is right, and cannot be done here.
constexpr int kFailed = 1;

void expect_one_sentence(const Ended& ended, const std::string& words, int code = kRefused) {
  EXPECT_EQ(ended.code, code);
  EXPECT_TRUE(has(ended.err, words)) << ended.err;
  EXPECT_TRUE(ended.err.starts_with("syncopate: ")) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_EQ(ended.out, "");
}

struct Case {
  std::string name;
  Strings options;
  std::string words;  ///< In the answer.
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class Refused : public ::testing::TestWithParam<Case> {};

TEST_P(Refused, BeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  Strings options = {"--runs", folder.path() / "runs", "-n", "2"};
  if (std::ranges::find(GetParam().options, "-w") == GetParam().options.end()) {
    options.insert(options.end(), {"-w", "hyperplane"});
  }
  options.insert(options.end(), GetParam().options.begin(), GetParam().options.end());
  expect_one_sentence(run(command("train", options)), GetParam().words);
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Refused,
    ::testing::Values(
        Case{"Workload", {"-w", "imagenet"}, "there is no workload 'imagenet'"},
        Case{"Strategy", {"-s", "fastest"}, "eager-majority"},
        Case{"StrategyParameter", {"-s", "eager-quorum:3"}, "2"},
        Case{"Model", {"--model", "vgg"}, "has no model 'vgg'. Use one of: linear"},
        Case{"Optimizer", {"--optimizer", "lion"}, "Use sgd, adam or adamw"},
        Case{"MomentumOfAdam",
             {"--optimizer", "adamw", "--momentum", "0.9"},
             "--momentum is of sgd, and adamw has its own kind"},
        Case{"OptionWithoutValue", {"--resume"}, "'syncopate train --help'"},
        Case{"UnknownOption", {"--quickly"}, "'syncopate train --help'"},
        Case{"UnknownOptions",
             {"--quickly", "7", "--please"},
             "there is no place for --quickly 7 --please. 'syncopate train --help'"},
        Case{"Device", {"--device", "tpu"}, "there is no device 'tpu'"},
        Case{"Imbalance", {"--imbalance", "often"}, "shift:"},
        Case{"ImbalanceRank", {"--imbalance", "persistent:5*8"}, "5"},
        Case{"Batch", {"--batch", "0"}, "--batch"},
        Case{"BatchOfAll", {"--batch", "1000000"}, "samples to train with"},
        Case{"Rate", {"--rate", "-1"}, "the learning rate is -1"},
        Case{"RateOfNoNumber", {"--rate", "nan"}, "--rate is 'nan'; give a finite number"},
        Case{"RateOfNoEnd", {"--rate", "inf"}, "--rate is 'inf'; give a finite number"},
        Case{"Momentum", {"--momentum", "1"}, "Give a number from 0 to below 1"},
        Case{"WeightDecay", {"--weight-decay", "-0.1"}, "not negative"},
        Case{"Target", {"--target", "-5"}, "--target is -5; give 0 or more"},
        Case{"Seed", {"--seed", "-1"}, "--seed must be a whole number from 0 to 1000000000000"},
        Case{"HugeBatch", {"--batch", "99999999999999999999"}, "from 1 to 1000000000000"},
        Case{"Pace", {"--pace", "-1ms"}, "give a time for each unit of work such as 0.3ms, or off"},
        Case{"Timeout", {"--timeout", "nan"}, "--timeout must be a number of seconds above 0"},
        Case{"NoModel", {"--model", ""}, "--model is empty; give it a value, or leave it out"},
        Case{"DataThatJsonCannotHold",
             {"--data", "\xff"},
             R"(--data must be text in UTF-8 without control characters, not '\xff')"},
        Case{"TerminalEscape", {"--until", "\x1b[2J"}, R"(not '\x1b[2J')"},
        Case{"TerminalEscapeInAnOption", {"--\x1b[2J"}, R"(--\x1b[2J)"},
        Case{"Until", {"--until", "tomorrow"}, "'tomorrow' does not say when to end"},
        Case{"UntilPartOfARound", {"--until", "rounds:0.5"}, "whole numbers"},
        Case{"UntilAccuracy", {"--until", "accuracy:90"}, "a regression, which has no accuracy"},
        Case{"UntilPerfect",
             {"-w", "video", "--until", "accuracy:188"},
             "no accuracy is 188 %. Give 100 or less"},
        Case{"UntilNever", {"--until", "loss:1", "--evaluate-every", "0"}, "never evaluated"},
        Case{"Schedule", {"--schedule", "cosine", "--until", "seconds:1"}, "how long the run is"},
        Case{"Data", {"-w", "mnist", "--data", "/nowhere"}, "make data"}),
    [](const auto& one) { return one.param.name; });

TEST(Refusal, AVariableThatMakesNoSense) {
  const TemporaryFolder folder;
  const fs::path runs = folder.path() / "runs";
  for (const std::string variable : {"SYNCOPATE_TIMEOUT=soon", "SYNCOPATE_SPLIT=2,",
                                     "SYNCOPATE_DOORBELL=loud", "SYNCOPATE_FABRIC=smoke"}) {
    Strings words{"env", variable};
    for (const auto& word : training(runs, {"-n", "2"})) words.push_back(word);
    const auto equals = variable.find('=');
    expect_one_sentence(run(words), variable.substr(0, equals) + " is \"" +
                                        variable.substr(equals + 1) + "\". Set it to ");
  }
  EXPECT_FALSE(fs::exists(runs));
}

TEST(Refusal, CudaWhereThereIsNone) {
  if (has_cuda()) GTEST_SKIP() << "there is a CUDA device";
  const TemporaryFolder folder;
  const fs::path runs = folder.path() / "runs";
  expect_one_sentence(run(training(runs, {"-n", "2", "--device", "cuda"})), "no CUDA device",
                      kFailed);
  EXPECT_FALSE(fs::exists(runs));
}

TEST(Refusal, APlaceThatCannotBeWritten) {
  const Ended ended = run(training("/dev/null/runs", {"-n", "2"}));
  EXPECT_TRUE(has(ended.err, "Choose another place with --runs")) << ended.err;
  EXPECT_EQ(ended.code, kFailed);
}

TEST(Refusal, ResultsOfAComparisonThatCannotBeWritten) {
  const TemporaryFolder folder;
  expect_one_sentence(run(command("compare", {"-w", "hyperplane", "-n", "2", "--runs",
                                              folder.path() / "runs", "--json", "/nowhere/x"})),
                      "--json: /nowhere/x cannot be written");
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

TEST(Refusal, ACommandThatIsNotThereListsThoseThatAre) {
  expect_one_sentence(run({SYNCOPATE_CLI_PATH, "foo"}),
                      "there is no command 'foo'. Use one of: run, strategies, train, compare, "
                      "workloads, bench, tour.");
}

TEST(Refusal, AFolderWithoutAName) {
  expect_one_sentence(run(command("train", {"-w", "hyperplane", "--runs", ""})),
                      "--runs is empty; give it a value, or leave it out");
  expect_one_sentence(run(command("train", {"--resume", ""})),
                      "--resume is empty; name the directory of a run");
}

TEST(Refusal, ResumingWhatIsNoRun) {
  const TemporaryFolder folder;
  expect_one_sentence(run(command("train", {"--resume", folder.path()})),
                      "is not the directory of a run");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Refusal, ResumingWhatIsComplete) {
  const std::pair<const char*, const char*> runs[] = {
      {"eager-solo", "rounds:5"}, {"sync", "seconds:0.05"}, {"sync", "loss:1000"}};
  for (const auto& [strategy, until] : runs) {
    SCOPED_TRACE(until);
    const TemporaryFolder folder;
    ASSERT_EQ(run(training(folder.path(),
                           {"-n", "2", "-s", strategy, "--until", until, "--evaluate-every", "16"}))
                  .code,
              0);
    const fs::path latest = folder.path() / "latest";
    const std::vector<fs::path> files = {
        latest / "config.json", latest / "result.json", latest / "metrics.jsonl",
        latest / "checkpoint" / "rank-0.safetensors", latest / "checkpoint" / "rank-1.safetensors"};
    Strings before, after;
    for (const fs::path& file : files) before.push_back(text_of(file));
    const Ended ended = run(command("train", {"--resume", latest}));
    expect_one_sentence(ended, std::string("is past the end ") + until);
    EXPECT_TRUE(has(ended.err, "Move the end on with --until")) << ended.err;
    for (const fs::path& file : files) after.push_back(text_of(file));
    EXPECT_EQ(before, after) << "nothing is touched";
  }
}

/// Changes the notes of a part of a checkpoint, which fits together as before.
void change_notes(const fs::path& file, const std::function<void(train::Notes&)>& change) {
  const std::string bytes = text_of(file);
  train::TensorFileBytes tensors = train::find_tensors(train::as_bytes(bytes));
  tensors.notes.erase("checksum");
  change(tensors.notes);
  std::ofstream(file, std::ios::binary) << train::to_bytes(tensors);
}

TEST(Refusal, ResumingFromFilesThatAreNotWhatIsDue) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(training(folder.path(), {"-n", "1", "--until", "rounds:2"})).code, 0);
  const fs::path latest = folder.path() / "latest";
  const fs::path part = latest / "checkpoint" / "rank-0.safetensors";
  const std::vector<fs::path> others = {latest / "result.json", latest / "metrics.jsonl"};
  const std::string config = text_of(latest / "config.json"), whole = text_of(part);
  Strings before, after;
  for (const fs::path& file : others) before.push_back(text_of(file));
  const auto refused = [&](const std::string& words) {
    const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:4"}));
    expect_one_sentence(ended, words, kFailed);
    EXPECT_FALSE(has(ended.err, "exception")) << ended.err;
  };
  change_notes(part, [](train::Notes& notes) { notes["version"] = "3"; });
  refused(
      "rank-0.safetensors cannot be read: it is of version 3, and this program reads version 2");
  change_notes(part, [](train::Notes& notes) {
    notes["version"] = "2";
    notes["head"].replace(notes["head"].find("\"seconds\":") + 10, 0, "-");
  });
  refused("rank-0.safetensors cannot be read: its list of counters has the \"seconds\" -");
  std::ofstream(part, std::ios::binary) << whole;
  std::ofstream(latest / "config.json") << "\x1b[2J{";
  refused("config.json cannot be read: it is no JSON text (at byte 1)");
  auto odd = nlohmann::json::parse(config);
  odd["batch"] = -1;
  std::ofstream(latest / "config.json") << odd;
  refused("config.json cannot be read: it has the \"batch\" -1");
  for (const fs::path& file : others) after.push_back(text_of(file));
  EXPECT_EQ(before, after) << "nothing else is touched";
}

TEST(Refusal, ResumingFromAStrategysStateThatIsNotWhatIsDue) {
  const TemporaryFolder folder;
  ASSERT_EQ(
      run(training(folder.path(), {"-n", "2", "-s", "eager-solo", "--until", "rounds:4"})).code, 0);
  const fs::path latest = folder.path() / "latest";
  change_notes(latest / "checkpoint" / "rank-1.safetensors", [](train::Notes& notes) {
    auto head = nlohmann::json::parse(notes["head"]);
    head["strategy"]["own"]["lag"] = 1e30;
    notes["head"] = head.dump();
  });
  const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:8"}));
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_TRUE(has(ended.err, "the entry 'lag' of the strategy's state is 1e+30")) << ended.err;
  EXPECT_TRUE(has(ended.err, "another rank cannot go on")) << ended.err;
}

TEST(Refusal, ResumingWithFewerRanksThanTheRunCanHave) {
  const std::vector<Strings> runs = {{"-s", "eager-quorum:2"}, {"--imbalance", "persistent:1*2"}};
  for (const Strings& options : runs) {
    SCOPED_TRACE(options.back());
    const TemporaryFolder folder;
    Strings all{"-n", "2", "--until", "rounds:2"};
    all.insert(all.end(), options.begin(), options.end());
    ASSERT_EQ(run(training(folder.path(), all)).code, 0);
    const fs::path latest = folder.path() / "latest";
    const Ended ended =
        run(command("train", {"--resume", latest, "-n", "1", "--until", "rounds:4"}));
    expect_one_sentence(ended, "the run cannot go on with -n 1: ");
    EXPECT_TRUE(has(ended.err, "Resume it with as many as before (-n 2)")) << ended.err;
    EXPECT_EQ(run(command("train", {"--resume", latest, "-n", "2", "--until", "rounds:4"})).code,
              0);
  }
}

TEST(Refusal, OutputThatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string program = SYNCOPATE_CLI_PATH;
  for (const char* words : {"strategies", "workloads", "--help", "train --help", "bench --help"}) {
    const Ended ended = run({"bash", "-c", program + " " + words + " > /dev/full"});
    expect_one_sentence(ended, "the output cannot be written: No space left on device", kFailed);
  }
  std::string training_to_full = "exec > /dev/full;";
  for (const auto& word : training(folder.path(), {"-n", "2", "--until", "rounds:2"})) {
    training_to_full += " '" + word + "'";
  }
  const Ended ended = run({"bash", "-c", training_to_full});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_TRUE(has(ended.err, "the output cannot be written")) << ended.err;
  EXPECT_TRUE(fs::exists(folder.path() / "latest" / "result.json")) << "what it did is done";
}

TEST(Refusal, ResumingWithOtherSettings) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(training(folder.path(), {"-n", "1", "--until", "rounds:2"})).code, 0);
  const fs::path latest = folder.path() / "latest";
  const std::string before = text_of(latest / "config.json");
  expect_one_sentence(run(command("train", {"--resume", latest, "--batch", "8"})),
                      "has batch 4, and 8 was asked for");
  expect_one_sentence(run(command("train", {"--resume", latest, "-s", "sync:ahead=1"})),
                      R"(has strategy_in_full "sync:ahead=0", and "sync:ahead=1" was asked for)");
  expect_one_sentence(run(command("train", {"--resume", latest, "--runs", folder.path()})),
                      "--runs is for new runs");
  EXPECT_EQ(text_of(latest / "config.json"), before);
  EXPECT_TRUE(fs::exists(latest / "result.json"));
}

}  // namespace
}  // namespace syncopate::testing

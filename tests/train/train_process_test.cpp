// `syncopate train` and `syncopate compare` as whole programs: what a run writes, and that it goes
// on where it stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "train/train_program.h"

namespace syncopate::testing {
namespace {

TEST(TrainProgram, WritesItsSettingsAMetricPerRoundAndRankAndTheResult) {
  const TemporaryFolder folder;
  const Ended ended = run(training(folder.path(), {"-n", "3", "--until", "rounds:12"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const fs::path latest = folder.path() / "latest";
  EXPECT_TRUE(has(ended.out, fs::read_symlink(latest).string())) << ended.out;

  const auto config = json_of(latest / "config.json");
  EXPECT_EQ(config.at("workload"), "hyperplane");
  EXPECT_EQ(config.at("strategy"), "sync");
  EXPECT_EQ(config.at("strategy_in_full"), "sync:ahead=0");
  EXPECT_EQ(config.at("ranks"), 3);
  EXPECT_EQ(config.at("until"), "rounds:12");

  std::map<int, int> rounds;
  std::istringstream lines(text_of(latest / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto metric = nlohmann::json::parse(line);
    EXPECT_EQ(metric.at("round"), ++rounds[metric.at("rank")]) << "rounds come without gaps";
    EXPECT_EQ(metric.at("contributors"), 3);
    EXPECT_EQ(metric.at("staleness"), 0);
    for (const char* name : {"arrived_s", "compute_ms", "wait_ms", "exchange_ms"}) {
      EXPECT_GE(metric.at(name).get<double>(), 0) << name;
    }
  }
  EXPECT_EQ(rounds, (std::map<int, int>{{0, 12}, {1, 12}, {2, 12}}));

  const auto result = json_of(latest / "result.json");
  EXPECT_EQ(result.at("rounds"), 12);
  EXPECT_EQ(result.at("samples"), 12 * 3 * 4);
  EXPECT_FALSE(result.at("interrupted"));
  EXPECT_TRUE(result.at("dead").empty());
}

TEST(TrainProgram, EveryRoundOfARelaxedRunIsInItsMetrics) {
  const TemporaryFolder folder;
  const Ended ended = run(training(folder.path(), {"-n", "2", "-s", "eager-solo", "--until",
                                                   "rounds:30", "--imbalance", "random:1x5ms"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::map<int, double> mass;
  std::map<int, int> rounds;
  std::istringstream lines(text_of(folder.path() / "latest" / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto metric = nlohmann::json::parse(line);
    EXPECT_EQ(metric.at("round"), ++rounds[metric.at("rank")]);
    mass[metric.at("rank")] += metric.at("mass").get<double>();
  }
  const auto result = json_of(folder.path() / "latest" / "result.json");
  EXPECT_EQ(rounds[0], result.at("rounds"));
  EXPECT_EQ(rounds[1], rounds[0]);
  // Also of the work that was on its way at the end: nothing is lost.
  EXPECT_NEAR(mass[0] * 2 * 4, result.at("samples").get<double>(), 1e-6);
}

void expect_resumed_as_without_a_pause(Strings settings) {
  const TemporaryFolder whole, parts;
  settings.insert(settings.end(), {"-n", "2", "--until"});
  const auto until = [&](const char* end) {
    Strings all = settings;
    all.emplace_back(end);
    return all;
  };
  ASSERT_EQ(run(training(whole.path(), until("rounds:20"))).code, 0);
  ASSERT_EQ(run(training(parts.path(), until("rounds:10"))).code, 0);
  const fs::path latest = parts.path() / "latest";
  EXPECT_NE(saved_weights(latest, 0), saved_weights(whole.path() / "latest", 0));
  const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:20"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(saved_weights(latest, rank), saved_weights(whole.path() / "latest", rank));
  }
  const auto resumed = json_of(latest / "result.json");
  const auto expected = json_of(whole.path() / "latest" / "result.json");
  for (const char* name : {"loss", "rounds", "samples"}) {
    EXPECT_EQ(resumed.at(name), expected.at(name)) << name;
  }
}

TEST(TrainProgram, SyncResumedIsBitIdenticalToSyncWithoutAPause) {
  expect_resumed_as_without_a_pause({"-s", "sync", "--momentum", "0.9", "--nesterov"});
}

TEST(TrainProgram, SoItIsWithTheMomentsOfAdam) {
  for (const char* name : {"adam", "adamw"}) {
    expect_resumed_as_without_a_pause({"--optimizer", name, "--weight-decay", "0.01"});
  }
}

TEST(TrainProgram, SoItIsWithGradientsComputedAhead) {
  expect_resumed_as_without_a_pause({"-s", "sync:ahead=2", "--momentum", "0.9"});
}

TEST(TrainProgram, GoesOnWithTheParametersItHadWhateverTheDefaultsAre) {
  const TemporaryFolder whole, parts;
  const auto until = [](const char* end) -> Strings {
    return {"-n", "2", "-s", "sync:ahead=2", "--momentum", "0.9", "--until", end};
  };
  ASSERT_EQ(run(training(whole.path(), until("rounds:20"))).code, 0);
  ASSERT_EQ(run(training(parts.path(), until("rounds:10"))).code, 0);
  const fs::path latest = parts.path() / "latest";
  auto config = json_of(latest / "config.json");
  config["strategy"] = "sync";  // As if two steps ahead had been the default.
  std::ofstream(latest / "config.json") << config;
  ASSERT_EQ(run(command("train", {"--resume", latest, "--until", "rounds:20"})).code, 0);
  EXPECT_EQ(saved_weights(latest, 0), saved_weights(whole.path() / "latest", 0));
}

TEST(TrainProgram, ARankThatIsLateTakesEachRoundAtTheRateTheOthersHadForIt) {
  const TemporaryFolder folder;
  const Ended ended = run(
      training(folder.path(), {"-n", "3", "-s", "eager-solo", "--schedule", "cosine", "--until",
                               "rounds:60", "--imbalance", "persistent:0*8", "--pace", "0.5ms"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const fs::path latest = folder.path() / "latest";
  EXPECT_GT(json_of(latest / "result.json").at("staleness_max"), 1) << "no rank was late";
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(saved_weights(latest, rank), saved_weights(latest, 0)) << rank;
  }
}

TEST(TrainProgram, AdamHasARateOfItsOwn) {
  const TemporaryFolder folder;
  const Ended ended = run(command("train", {"-w", "hyperplane", "-n", "1", "--runs", folder.path(),
                                            "--optimizer", "adam", "--until", "rounds:2"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "adam at rate 0.001,")) << ended.out;
  EXPECT_EQ(json_of(folder.path() / "latest" / "config.json").at("rate"), 0.001);
}

TEST(TrainProgram, EndedByItsLossHasACheckpointToo) {
  const TemporaryFolder folder;
  const Ended ended =
      run(training(folder.path(), {"-n", "2", "--until", "loss:1000", "--evaluate-every", "16"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json_of(folder.path() / "latest" / "result.json").at("rounds"), 2);
  EXPECT_TRUE(fs::exists(folder.path() / "latest" / "checkpoint" / "rank-1.safetensors"));
}

TEST(TrainProgram, GoesOnWithFewerAndWithMoreRanksAndLosesNothing) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(training(folder.path(), {"-n", "3", "-s", "eager-solo:grace=off", "--pace", "1ms",
                                         "--imbalance", "persistent:1*3", "--until", "rounds:20"}))
                .code,
            0);
  const fs::path latest = folder.path() / "latest";
  double samples = json_of(latest / "result.json").at("samples");
  int rounds = 20;
  const std::map<int, std::string> said = {
      {2,
       "with 2 ranks instead of 3: the batch of all changes from 12 samples to 8, the rate stays"},
      {5,
       "with 5 ranks instead of 2: the batch of all changes from 8 samples to 20, the rate stays"}};
  for (const int ranks : {2, 5}) {
    rounds += 20;
    fs::remove(latest / "metrics.jsonl");
    const Ended ended = run(command(
        "train", {"--resume", latest, "-n", std::to_string(ranks), "--until",
                  "rounds:" + std::to_string(rounds), "--pace", std::to_string(ranks) + "ms"}));
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(has(ended.out, said.at(ranks))) << ended.out;
    EXPECT_EQ(json_of(latest / "config.json").at("ranks"), ranks);
    EXPECT_EQ(json_of(latest / "config.json").at("pace_ms"), ranks) << "another pace as well";
    const auto result = json_of(latest / "result.json");
    EXPECT_GE(result.at("rounds"), rounds);
    EXPECT_TRUE(
        fs::exists(latest / "checkpoint" / ("rank-" + std::to_string(ranks - 1) + ".safetensors")));
    EXPECT_FALSE(
        fs::exists(latest / "checkpoint" / ("rank-" + std::to_string(ranks) + ".safetensors")));
    // All that was trained since, and what had been on its way when the last part was saved.
    double gradients = 0;
    std::istringstream lines(text_of(latest / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto metric = nlohmann::json::parse(line);
      if (metric.at("rank") == 0) gradients += metric.at("mass").get<double>() * ranks;
    }
    EXPECT_GE(4 * gradients, result.at("samples").get<double>() - samples - 1e-3);
    EXPECT_LE(4 * gradients, result.at("samples").get<double>() - samples + 4 * 5 * 8);
    samples = result.at("samples");
  }
}

TEST(TrainProgram, RanksOnAGpuEndWhereThoseOnProcessorsDo) {
  if (!has_cuda()) GTEST_SKIP() << "there is no CUDA device";
  const auto end_of = [](const std::string& strategy, const char* device) {
    const TemporaryFolder folder;
    const Ended ended =
        run(training(folder.path(), {"-n", "3", "-s", strategy, "--momentum", "0.9", "--schedule",
                                     "cosine", "--device", device, "--until", "rounds:20"}));
    EXPECT_EQ(ended.code, 0) << ended.err;
    const fs::path latest = folder.path() / "latest";
    const std::vector<float> end = saved_weights(latest, 0);
    for (int rank = 1; rank < 3; ++rank) EXPECT_EQ(saved_weights(latest, rank), end) << rank;
    return end;
  };
  for (const char* strategy : {"sync", "sync:ahead=2", "local:4", "m-sync:3"}) {
    SCOPED_TRACE(strategy);
    const std::vector<float> host = end_of(strategy, "cpu");
    for (const char* device : {"cuda", "mixed"}) {
      const std::vector<float> end = end_of(strategy, device);
      ASSERT_EQ(end.size(), host.size());
      double apart = 0, length = 0;
      for (std::size_t i = 0; i < end.size(); ++i) {
        apart += std::pow(end[i] - host[i], 2);
        length += std::pow(host[i], 2);
      }
      EXPECT_LT(std::sqrt(apart), 1e-4 * std::sqrt(length)) << device;
    }
  }
  for (const char* strategy : {"eager-solo", "wagma", "biased-local"}) {
    SCOPED_TRACE(strategy);
    end_of(strategy, "mixed");
  }
}

TEST(TrainProgram, ResumedOnAGpuItIsBitIdenticalToo) {
  if (!has_cuda()) GTEST_SKIP() << "there is no CUDA device";
  expect_resumed_as_without_a_pause(
      {"-s", "sync:ahead=2", "--momentum", "0.9", "--device", "cuda"});
}

TEST(TrainProgram, ResumedItHasEveryEvaluationAndEveryRoundOnce) {
  const TemporaryFolder folder;
  const fs::path latest = folder.path() / "latest";
  ASSERT_EQ(run(training(folder.path(),
                         {"-n", "2", "-s", "eager-solo:grace=off", "--imbalance", "persistent:1*3",
                          "--pace", "1ms", "--until", "rounds:20", "--evaluate-every", "40"}))
                .code,
            0);
  const auto before = json_of(latest / "result.json").at("evaluations");
  const Ended ended = run(command("train", {"--resume", latest, "--until", "rounds:30"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "goes on after round 20")) << ended.out;
  EXPECT_FALSE(has(ended.out, "the batch of all changes")) << ended.out;
  const auto after = json_of(latest / "result.json").at("evaluations");
  ASSERT_GT(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i]) << i;
  std::map<std::pair<int, int>, int> rounds;
  std::istringstream lines(text_of(latest / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto metric = nlohmann::json::parse(line);
    EXPECT_EQ(++rounds[std::pair(metric.at("rank"), metric.at("round"))], 1) << line;
  }
  EXPECT_EQ(rounds.size(), 2 * json_of(latest / "result.json").at("rounds").get<std::size_t>());
}

TEST(TrainProgram, WritesTheTrainedModelByTheNamesOfItsParameters) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(training(folder.path(), {"-n", "2", "--until", "rounds:5"})).code, 0);
  const fs::path latest = folder.path() / "latest";
  std::vector<float> model = saved_values(latest / "model.safetensors", "weight");
  for (const float value : saved_values(latest / "model.safetensors", "bias")) {
    model.push_back(value);
  }
  EXPECT_EQ(model, saved_weights(latest, 0)) << "under sync nothing is carried";
}

TEST(TrainProgram, AStepInPartsLastsAsLongAsInOne) {
  for (const char* strategy : {"sync", "dropcompute:1000s"}) {
    const TemporaryFolder folder;
    ASSERT_EQ(
        run(training(folder.path(), {"-n", "2", "-s", strategy, "--imbalance", "shift:40..40ms",
                                     "--pace", "off", "--until", "rounds:8"}))
            .code,
        0);
    std::vector<double> times;
    std::istringstream lines(text_of(folder.path() / "latest" / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      times.push_back(nlohmann::json::parse(line).at("compute_ms"));
    }
    ASSERT_EQ(times.size(), 16U);
    std::ranges::sort(times);
    EXPECT_GE(times.front(), 40) << strategy;
    EXPECT_LT(times[times.size() / 2], 70) << strategy;
  }
}

TEST(CompareProgram, GivesARowWithAllFiguresForEachStrategy) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "rows.jsonl";
  const Ended ended = run(command(
      "compare", {"-w", "hyperplane", "-s", "sync,eager-solo", "-n", "2", "--batch", "4", "--rate",
                  "0.0001", "--until", "samples:160", "--runs", folder.path(), "--json", file}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_FALSE(fs::exists(folder.path() / "latest")) << "there is nothing to resume";
  EXPECT_TRUE(has(ended.out, "speed-up")) << ended.out;
  EXPECT_TRUE(has(ended.out, "Waiting for everyone, sync stood still")) << ended.out;

  std::vector<nlohmann::json> rows;
  std::istringstream lines(text_of(file));
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    for (const char* name : {"strategy", "seconds", "time_to_target", "accuracy", "loss",
                             "samples_per_s", "speedup_vs_sync", "wait_share", "contributors_mean",
                             "staleness_max", "ideal_seconds", "share_of_ideal"}) {
      EXPECT_TRUE(row.contains(name)) << name;
    }
    // The same work: a rank may have had one more step on its way when the end was reached.
    EXPECT_NEAR(row.at("runs").at(0).at("samples").get<double>(), 164, 4);
  }
  EXPECT_EQ(rows[0].at("strategy"), "sync");
  EXPECT_EQ(rows[0].at("speedup_vs_sync"), 1);
  EXPECT_EQ(rows[0].at("runs").at(0).at("samples"), 160);
  EXPECT_EQ(rows[1].at("strategy"), "eager-solo");
  EXPECT_EQ(rows[0].at("config").at("strategy_in_full"), "sync:ahead=0");
  for (const char* name : {"strategy", "strategy_in_full"}) {
    for (auto& row : rows) row["config"].erase(name);
  }
  EXPECT_EQ(rows[0].at("config"), rows[1].at("config")) << "the same settings and seeds";
}

TEST(CompareProgram, InterruptedItShowsWhatIsComplete) {
  const TemporaryFolder folder;
  const fs::path runs = folder.path() / "runs", json = folder.path() / "rows";
  Program program(
      command("compare", {"-w", "hyperplane", "--batch", "4", "-n", "2", "-s", "sync,eager-solo",
                          "--until", "seconds:2", "--runs", runs, "--json", json}));
  await(
      [&] {
        return fs::exists(runs) && std::distance(fs::directory_iterator(runs), {}) == 2 &&
               !processes_by("SYNCOPATE_RANK", runs).empty();
      },
      "a second run");
  program.send(SIGINT);
  EXPECT_NE(program.wait(), 0);
  EXPECT_TRUE(has(program.err(), "eager-solo did not come to its end")) << program.err();
  EXPECT_TRUE(has(program.out(), "\nsync ")) << program.out();
  const std::string rows = text_of(json);
  EXPECT_EQ(std::ranges::count(rows, '\n'), 1) << rows;
  EXPECT_EQ(nlohmann::json::parse(rows).at("strategy"), "sync");
}

}  // namespace
}  // namespace syncopate::testing

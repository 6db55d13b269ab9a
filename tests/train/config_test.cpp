// config.json of a run is checked as what is typed is: types, ranges, words, and no more than is
// asked for.
#include "train/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "support/refusal.h"
#include "train/bytes.h"
#include "train/temporary_folder.h"

namespace syncopate::train {
namespace {

Config some() {
  return {.workload = "hyperplane",
          .model = "linear",
          .strategy = "sync",
          .strategy_in_full = "sync:ahead=0",
          .ranks = 2,
          .until = {.kind = Until::Kind::rounds, .amount = 5}};
}

class ConfigFile : public ::testing::Test {
 protected:
  Config read(const std::string& text) const {
    std::ofstream(folder_.path() / "config.json", std::ios::binary) << text;
    return read_config(folder_.path());
  }
  void expect_refused(const std::string& text, const std::string& words) const {
    testing::expect_refused(ErrorCode::environment, {"config.json cannot be read: ", words},
                            [&] { read(text); });
  }
  void expect_refused(const char* name, const nlohmann::json& value,
                      const std::string& words) const {
    SCOPED_TRACE(name);
    nlohmann::json json = some();
    json[name] = value;
    expect_refused(json.dump(), words);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ConfigFile, IsReadAsItWasWritten) {
  Config config = some();
  config.seed = 1234567890123;
  config.imbalance = "random:1x20ms";
  config.evaluate_every = 0;
  EXPECT_EQ(read(config_text(config)), config);
}

TEST_F(ConfigFile, WithAValueOfAnotherTypeIsRefused) {
  const nlohmann::json whole = some();
  for (const auto& [name, value] : whole.items()) {
    for (const nlohmann::json& other :
         {nlohmann::json(nullptr), nlohmann::json::array(), nlohmann::json::object(),
          value.is_string() ? nlohmann::json(1) : nlohmann::json("x")}) {
      expect_refused(name.c_str(), other, '"' + name + '"');
    }
    nlohmann::json without = some();
    without.erase(name);
    expect_refused(without.dump(), "it has no \"" + name + '"');
  }
  expect_refused("more", 1, "\"more\", which is not known");
}

TEST_F(ConfigFile, WithAValueThatCouldNotBeTypedIsRefused) {
  expect_refused("ranks", 0, "\"ranks\" 0");
  expect_refused("ranks", 1LL << 33, "from 1 to 1000000");
  expect_refused("batch", -4, "\"batch\" -4");
  expect_refused("batch", 2.5, "a whole number");
  expect_refused("optimizer", "lion", "there is no optimizer 'lion'");
  expect_refused("rate", 0, "the learning rate is 0");
  expect_refused("rate", 1e300, "the learning rate is 1e+300");
  expect_refused("momentum", 1, "the momentum is 1");
  expect_refused("weight_decay", -1, "the weight decay is -1");
  expect_refused("schedule", "sometimes", "there is no schedule 'sometimes'");
  expect_refused("imbalance", "often", "is not an imbalance");
  expect_refused("pace_ms", -1, "the pace is -1");
  expect_refused("pace_ms", 1e12, "the pace is 1000000000000 ms");
  expect_refused("until", "rounds:-1", "does not say when to end");
  expect_refused("evaluate_every", -2, "\"evaluate_every\" -2");
  expect_refused("checkpoint_every", 1e30, "\"checkpoint_every\" 1e+30");
  expect_refused("seed", -1, "\"seed\" -1");
  expect_refused("seed", std::numeric_limits<std::uint64_t>::max(), "\"seed\" 1844");
  expect_refused("device", "tpu", "there is no device 'tpu'");
  expect_refused("strategy", "fastest", "there is no strategy 'fastest'");
  expect_refused("strategy_in_full", "eager-quorum:9", "eager-quorum: K is '9'");
}

TEST_F(ConfigFile, ThatIsNoneIsRefusedWithoutBeingSwallowed) {
  expect_refused("", "no JSON text");
  expect_refused("\x1b[2J", "no JSON text (at byte 1)");
  expect_refused(std::string(500'000, '['), "nested too deeply");
  expect_refused("[1,2]", "where an object is due");
  std::filesystem::resize_file(folder_.path() / "config.json", std::uint64_t{1} << 40);
  testing::expect_refused(ErrorCode::environment, {"1099511627776 bytes, where 1048576 at most"},
                          [&] { read_config(folder_.path()); });
  std::filesystem::remove(folder_.path() / "config.json");
  std::filesystem::create_directory(folder_.path() / "config.json");
  testing::expect_refused(ErrorCode::environment, {"it is no file"},
                          [&] { read_config(folder_.path()); });
}

TEST_F(ConfigFile, ThatIsNotThereIsNoRun) {
  testing::expect_refused(ErrorCode::invalid_argument, {"not the directory of a run"},
                          [&] { read_config(folder_.path()); });
}

}  // namespace
}  // namespace syncopate::train

// A strategy as a user writes it: what is accepted, and what is refused with which sentence.
#include "strategy/specification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "strategy/learner.h"
#include "support/ranks.h"
#include "support/refusal.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using strategy::Values;

constexpr int kRanks = 8;

void expect_refused_with(const std::string& text, const std::vector<std::string>& words) {
  SCOPED_TRACE(text);
  expect_refused(ErrorCode::invalid_argument, words, [&] { check_strategy(text, kRanks); });
}

TEST(Specification, AcceptsWhatIsMeantToBeAccepted) {
  for (const char* text : {"sync",
                           "eager-solo",
                           "eager-solo:window=16:anticipate=off",
                           "eager-majority:grace=0.2",
                           "eager-majority:grace=2ms:momentum-by-mass=off",
                           "eager-quorum:4",
                           "eager-quorum:K=8",
                           "eager-quorum:grace=off:4",
                           "m-sync:1",
                           "m-sync:8:window=250",
                           "m-sync:8:grace=auto:ahead=1:momentum-by-mass=on",
                           "dropcompute",
                           "dropcompute:20ms",
                           "dropcompute:auto:parts=8",
                           "dropcompute:tau=0.5s",
                           "wagma",
                           "wagma:4:10",
                           "wagma:auto:8",
                           "wagma:TAU=5",
                           "wagma:rotate=off:grace=auto",
                           "wagma:late=average",
                           "local",
                           "local:4",
                           "post-local:100",
                           "post-local:100:5",
                           "post-local:H=5:T=100",
                           "biased-local",
                           "biased-local:32:alpha=0:sample-ratio=1:biased=off",
                           "biased-local:alpha=1e-1"}) {
    EXPECT_NO_THROW(check_strategy(text, kRanks)) << text;
  }
}

TEST(Specification, AWrongNameGetsTheListOfNames) {
  for (const char* text : {"", "eager", "SYNC", "sync ", "wagma4:10", ":sync", "eager_solo"}) {
    expect_refused_with(
        text, {"there is no strategy '" + std::string(text).substr(0, std::string(text).find(':')),
               "sync, eager-solo, eager-majority, eager-quorum, m-sync, dropcompute, wagma, local, "
               "post-local, biased-local"});
  }
}

TEST(Specification, AValueTooManyGetsTheForm) {
  expect_refused_with("sync:3", {"has a value too many: '3'", "Write it as sync[:ahead=…]"});
  expect_refused_with("sync:", {"has a value too many: ''"});
  expect_refused_with("eager-solo:4", {"the strategy 'eager-solo:4' has a value too many: '4'",
                                       "Write it as eager-solo[:grace=…][:anticipate=…][:ahead=…]"
                                       "[:momentum-by-mass=…][:window=…]"});
  expect_refused_with("eager-quorum:4:5",
                      {"has a value too many: '5'", "eager-quorum:K[:grace=…]"});
  expect_refused_with("wagma:4:10:3", {"has a value too many: '3'", "wagma[:S][:TAU][:grace=…]"});
  expect_refused_with("post-local:1:2:3", {"has a value too many", "post-local:T[:H]"});
}

TEST(Specification, AnUnknownKeyGetsTheForm) {
  expect_refused_with("sync:window=3", {"has no parameter 'window'", "Write it as sync[:ahead=…]"});
  expect_refused_with("eager-solo:windows=3",
                      {"has no parameter 'windows'", "[:momentum-by-mass=…][:window=…]"});
  expect_refused_with("m-sync:3:anticipate=off",
                      {"has no parameter 'anticipate'", "m-sync:M[:grace=…][:ahead=…]"});
  expect_refused_with("local:=3", {"has no parameter ''", "local[:H]"});
  expect_refused_with("local:h=3", {"has no parameter 'h'"});
}

TEST(Specification, AMissingValueIsNamed) {
  expect_refused_with("eager-quorum", {"the strategy 'eager-quorum' needs K", "eager-quorum:K"});
  expect_refused_with("m-sync:window=3", {"needs M", "m-sync:M[:grace=…]"});
  expect_refused_with("post-local:H=3", {"needs T", "post-local:T[:H]"});
  expect_refused_with("eager-solo:window=", {"gives no value for window"});
  expect_refused_with("wagma::5", {"gives no value for S"});
  expect_refused_with("wagma:4:", {"gives no value for TAU"});
}

TEST(Specification, AValueGivenTwiceIsRefused) {
  expect_refused_with("eager-quorum:2:K=3", {"gives K twice"});
  expect_refused_with("eager-solo:window=3:window=3", {"gives window twice"});
}

TEST(Specification, AValueOutOfRangeGetsTheRange) {
  for (const char* value : {"0", "9", "-1", "2.5", "two", "1e0", "99999999999", " 2", "+2"}) {
    expect_refused_with(
        std::string("eager-quorum:") + value,
        {"eager-quorum: K is '" + std::string(value) + "'", "Use a whole number from 1 to 8"});
  }
  expect_refused_with("m-sync:9", {"m-sync: M is '9'", "from 1 to 8"});
  expect_refused_with("wagma:9", {"wagma: S is '9'", "from 1 to 8"});
  expect_refused_with("wagma:0", {"wagma: S is '0'"});
  expect_refused_with("wagma:2:0", {"wagma: TAU is '0'"});
  expect_refused_with("wagma:late=never", {"wagma: late is 'never'", "average or keep"});
  expect_refused_with("local:0", {"local: H is '0'", "from 1 to"});
  expect_refused_with("post-local:0", {"post-local: T is '0'"});
  expect_refused_with("dropcompute:parts=1", {"dropcompute: parts is '1'", "from 2 to"});
  for (const char* value : {"-0.1", "1.1", "nan", "inf", "half", ""}) {
    if (*value != 0) {
      expect_refused_with(std::string("biased-local:alpha=") + value,
                          {"biased-local: alpha is", "a number from 0 to 1"});
    }
  }
  for (const char* value : {"-1", "21", "nan", "far"}) {
    for (const char* strategy :
         {"sync:ahead=", "eager-solo:ahead=", "eager-solo:anticipate=off:ahead="}) {
      expect_refused_with(std::string(strategy) + value,
                          {"ahead is '" + std::string(value) + "'", "a number from 0 to 20"});
    }
  }
  expect_refused_with("biased-local:sample-ratio=0.5", {"sample-ratio", "from 1 to 1000"});
  for (const char* key : {"eager-solo:anticipate", "eager-solo:momentum-by-mass", "wagma:rotate",
                          "biased-local:biased"}) {
    expect_refused_with(std::string(key) + "=yes", {"is 'yes'", "Use on or off"});
  }
  for (const char* value : {"-1", "0", "soon", "5", "nan", "20 ms", "off", "0ms", "0.2"}) {
    expect_refused_with(std::string("dropcompute:") + value,
                        {"dropcompute: tau is '" + std::string(value) + "'",
                         "Use auto or a duration such as 20ms"});
  }
}

TEST(Specification, WhatTheCollectiveWouldRefuseIsRefusedBeforeIt) {
  // With the same words from check_strategy(), which has no ranks to make a collective with.
  for (const char* text : {"eager-solo:window=251", "eager-solo:window=0", "m-sync:2:window=251",
                           "wagma:2:251", "eager-solo:grace=11", "eager-solo:grace=-0.1",
                           "eager-solo:grace=3601s", "wagma:2:10:grace=11", "wagma:2:10:grace=0"}) {
    expect_refused_with(text, {" is '", "Use "});
  }
  // Sixty-four ranks on their own, two hundred steps deep, would need too many results at once.
  EXPECT_THROW(check_strategy("wagma:1:200", 64), Error);
}

TEST(Specification, OneRankHasOneChoice) {
  expect_refused(ErrorCode::invalid_argument, {"Use the number 1"},
                 [] { check_strategy("eager-quorum:2", 1); });
}

TEST(Specification, NothingStartsWithAWrongStrategy) {
  on_threads(2, [](World& world) {
    VectorLearner learner(Vector(3, 1.0F));
    const Training training{.world = world, .learner = learner};
    expect_refused(ErrorCode::invalid_argument, {"Use a whole number from 1 to 2"},
                   [&] { make_strategy("m-sync:3", training); });
    EXPECT_TRUE(learner.keeps_its_own_weights());
    // The world is as it was: a right one can be made.
    make_strategy("local:1", training)->finish();
  });
}

TEST(Strategies, AreAllThereWithTheirParametersAndDefaults) {
  std::map<std::string, std::string> forms;
  for (const StrategyDescription& description : strategies()) {
    EXPECT_FALSE(description.summary.empty() || description.paper.empty()) << description.name;
    std::string& form = forms[description.name];
    for (const ParameterDescription& parameter : description.parameters) {
      EXPECT_FALSE(parameter.meaning.empty()) << description.name << " " << parameter.name;
      form += (form.empty() ? "" : " ") + parameter.name + (parameter.by_place ? "!" : "") + "=" +
              parameter.standard;
    }
  }
  const std::string eager = "grace=auto anticipate=on ahead=2 momentum-by-mass=on window=8";
  EXPECT_EQ(forms, (std::map<std::string, std::string>{
                       {"sync", "ahead=0"},
                       {"eager-solo", eager},
                       {"eager-majority", eager},
                       {"eager-quorum", "K!= " + eager},
                       {"m-sync", "M!= grace=off ahead=0 momentum-by-mass=off window=32"},
                       {"dropcompute", "tau!=auto parts=4"},
                       {"wagma", "S!=auto TAU!=10 grace=off late=keep rotate=on"},
                       {"local", "H!=10"},
                       {"post-local", "T!= H!=10"},
                       {"biased-local", "H!=16 alpha=0.5 sample-ratio=4 biased=on"}}));
}

TEST(Strategies, AcceptTheirOwnDefaults) {
  for (const StrategyDescription& description : strategies()) {
    std::string text = description.name;
    for (const ParameterDescription& parameter : description.parameters) {
      const std::string value = parameter.standard.empty() ? "2" : parameter.standard;
      text += ":" + parameter.name + "=" + value;
    }
    EXPECT_NO_THROW(check_strategy(text, kRanks)) << text;
  }
}

TEST(Strategies, AreSpelledOutWithWhatWasLeftOut) {
  const auto expect = [](const char* text, const std::string& all) {
    EXPECT_EQ(spell_out_strategy(text), all);
    EXPECT_EQ(spell_out_strategy(all), all);
    EXPECT_NO_THROW(check_strategy(all, kRanks)) << all;
  };
  expect("sync", "sync:ahead=0");
  expect("eager-quorum:window=4:3",
         "eager-quorum:3:grace=auto:anticipate=on:ahead=2:momentum-by-mass=on:window=4");
  expect("wagma:TAU=5", "wagma:auto:5:grace=off:late=keep:rotate=on");
  expect("local", "local:10");
  EXPECT_THROW(spell_out_strategy("eager"), Error);
  EXPECT_THROW(spell_out_strategy("local:5:5"), Error);
}

TEST(Values, ReadWhatWasWritten) {
  const StrategyDescription description{
      .name = "test",
      .parameters = {{.name = "N", .standard = "3", .by_place = true},
                     {.name = "grace", .standard = "auto"},
                     {.name = "share", .standard = "0.5"},
                     {.name = "tau", .standard = "auto"},
                     {.name = "switch", .standard = "on"}}};
  const Values standard(description, "test");
  EXPECT_EQ(standard.whole("N", 1, 10), 3);
  EXPECT_EQ(standard.grace("grace"), automatic_grace());
  EXPECT_EQ(standard.number("share", 0, 1), 0.5);
  EXPECT_EQ(standard.duration("tau"), std::nullopt);
  EXPECT_TRUE(standard.on("switch"));
  const Values given(description, "test:auto:grace=0.25:share=1:tau=20ms:switch=off");
  EXPECT_EQ(given.whole_or_auto("N", 1, 10), 0);
  EXPECT_EQ(given.grace("grace"), automatic_grace(0.25));
  EXPECT_EQ(given.number("share", 0, 1), 1);
  EXPECT_EQ(given.duration("tau"), std::optional<Duration>(20ms));
  EXPECT_FALSE(given.on("switch"));
  EXPECT_EQ(Values(description, "test:grace=2ms").grace("grace"), grace(2ms));
  EXPECT_EQ(Values(description, "test:grace=off").grace("grace"), no_grace());
}

}  // namespace
}  // namespace syncopate::testing

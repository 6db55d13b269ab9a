// The rule by which a round starts: what it says, and in which order it asks.
#include "round/start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace syncopate::round {
namespace {

using namespace std::chrono_literals;
using Start = Outlook::Start;

constexpr Time kNow = 1000;

/// Answers as it is told, and notes what it was asked.
struct Answers {
  bool holds = true;
  bool windowed = true;
  bool all = true;
  Duration open_for{0};
  Time since = kNever;
  bool awaited = true;
  std::string asked;

  bool trigger_holds() { return note("trigger", holds); }
  bool in_window() { return note("window", windowed); }
  bool all_here() { return note("all", all); }
  Duration grace() { return note("grace", open_for); }
  Time open_since(Time now) { return note("since", since = std::min(since, now)); }
  bool is_awaited() { return note("awaited", awaited); }

 private:
  template <typename Answer>
  Answer note(const char* question, Answer answer) {
    asked += (asked.empty() ? "" : " ") + std::string(question);
    return answer;
  }
};

TEST(StartRule, AsksForNoMoreThanItNeeds) {
  Answers no_trigger{.holds = false};
  EXPECT_EQ(outlook(no_trigger, kNow).start, Start::not_yet);
  EXPECT_EQ(no_trigger.asked, "trigger") << "a further look would take a word from its owner";

  Answers blocked{.windowed = false};
  EXPECT_EQ(outlook(blocked, kNow).start, Start::blocked);
  EXPECT_EQ(blocked.asked, "trigger window");

  Answers complete{.open_for = 1s};
  EXPECT_EQ(outlook(complete, kNow).start, Start::now) << "all are here: grace waits for none";
  EXPECT_EQ(complete.asked, "trigger window all awaited");
}

TEST(StartRule, StaysOpenForTheGrace) {
  Answers open{.all = false, .open_for = 1us};
  const Outlook first = outlook(open, kNow);
  EXPECT_EQ(first.start, Start::later);
  EXPECT_EQ(first.again_at, kNow + 1000);
  EXPECT_EQ(outlook(open, kNow + 999).start, Start::later);
  EXPECT_EQ(outlook(open, kNow + 1000).start, Start::now);
}

TEST(StartRule, CountsGraceFromTheTriggerThoughNoRankWaits) {
  Answers open{.all = false, .open_for = 1us, .awaited = false};
  const Outlook unwanted = outlook(open, kNow);
  EXPECT_EQ(unwanted.start, Start::not_yet);
  EXPECT_EQ(unwanted.again_at, kNever);
  open.awaited = true;
  EXPECT_EQ(outlook(open, kNow + 400).again_at, kNow + 1000);
}

TEST(StartRule, GraceIsFixedOrAShareOfAStep) {
  const auto step = [] { return Duration(10ms); };
  EXPECT_EQ(grace_time(no_grace(), step), 0ns);
  EXPECT_EQ(grace_time(grace(3ms), step), 3ms);
  EXPECT_EQ(grace_time(automatic_grace(0.25), step), 2500us);
}

}  // namespace
}  // namespace syncopate::round

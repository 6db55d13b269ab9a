// An agent rings where it may find no agent awake and not where one is, and counts on being rung
// at only where all machines that may have something for it do so.
#include "agent/peer_activity.h"

#include <gtest/gtest.h>

namespace syncopate::agent {
namespace {

using Traffic = PeerActivity::Traffic;
using Time = PeerActivity::Time;

constexpr Time kMicrosecond = 1'000;
constexpr Time kMillisecond = 1'000 * kMicrosecond;
constexpr Time kBegin = 1'000'000 * kMillisecond;
constexpr Time kLater = kBegin + 1'000 * kMillisecond;

constexpr int kMachines = 3;  ///< This one is 1.

/// As many ranks as cores, so that there is none for the thread of an agent.
constexpr CpuBudget kFree{.ranks = 4, .cores = 4};
constexpr CpuBudget kOversubscribed{.ranks = 5, .cores = 4};
constexpr CpuBudget kCrowded{.ranks = 4, .cores = 4, .crowded = true};

bool ring_for_message(const PeerActivity& contacts, Time now, const CpuBudget& here = kFree) {
  return contacts.should_ring(2, Traffic::message, now, here);
}
bool ring_for_data(const PeerActivity& contacts, Time now, const CpuBudget& here = kFree) {
  return contacts.should_ring(2, Traffic::data, now, here);
}

TEST(Ringing, WithTheFirstMessage) {
  const PeerActivity contacts(kMachines);
  EXPECT_TRUE(ring_for_message(contacts, kBegin));
}

TEST(Ringing, WithAMessageWhereTheLastContactIsLongAgo) {
  PeerActivity contacts(kMachines);
  contacts.note_sent(2, kBegin);
  EXPECT_FALSE(ring_for_message(contacts, kBegin + 5 * kMillisecond));
  EXPECT_TRUE(ring_for_message(contacts, kBegin + 5 * kMillisecond + 1));
  contacts.note_heard(2, kBegin + 6 * kMillisecond, false);
  EXPECT_FALSE(ring_for_message(contacts, kBegin + 11 * kMillisecond));
  EXPECT_TRUE(ring_for_message(contacts, kBegin + 12 * kMillisecond));
}

TEST(Ringing, SoonerWhereRanksOutnumberTheCores) {
  PeerActivity contacts(kMachines);
  contacts.note_sent(2, kBegin);
  EXPECT_FALSE(ring_for_message(contacts, kBegin + 100 * kMicrosecond, kOversubscribed));
  EXPECT_TRUE(ring_for_message(contacts, kBegin + 100 * kMicrosecond + 1, kOversubscribed));
}

TEST(Ringing, WithAMessageToWhoIsDrowsy) {
  PeerActivity contacts(kMachines);
  contacts.note_heard(2, kBegin, true);
  EXPECT_TRUE(ring_for_message(contacts, kBegin));
  EXPECT_FALSE(contacts.should_ring(0, Traffic::data, kBegin, kFree)) << "another one is";
  contacts.note_heard(2, kBegin, false);  // The last word holds.
  EXPECT_FALSE(ring_for_message(contacts, kBegin));
}

/// A machine that has said lately that it is awake is believed, even if this one is not.
TEST(Ringing, NotWithAMessageBecauseThisMachineIsCrowded) {
  PeerActivity contacts(kMachines);
  contacts.note_heard(2, kBegin, false);
  contacts.note_told(2, true);
  EXPECT_FALSE(ring_for_message(contacts, kBegin, kCrowded));
}

TEST(Ringing, WithDataToWhoIsDrowsyAndWhereThisMachineIsCrowded) {
  PeerActivity contacts(kMachines);
  contacts.note_heard(2, kBegin, false);
  EXPECT_FALSE(ring_for_data(contacts, kBegin));
  EXPECT_FALSE(ring_for_data(contacts, kBegin, kOversubscribed));
  EXPECT_TRUE(ring_for_data(contacts, kBegin, kCrowded));
  contacts.note_heard(2, kBegin, true);
  EXPECT_TRUE(ring_for_data(contacts, kBegin));
}

/// A rank waits for them there.
TEST(Ringing, NotWithDataBecauseTheLastContactIsLongAgo) {
  PeerActivity contacts(kMachines);
  contacts.note_heard(2, kBegin, false);
  EXPECT_FALSE(ring_for_data(contacts, kLater));
}

/// All others ring, and have not been in contact of late.
PeerActivity all_ring() {
  PeerActivity contacts(kMachines);
  for (const int machine : {0, 2}) {
    contacts.note_heard(machine, kBegin, false);
    contacts.note_bell(machine);
  }
  return contacts;
}

TEST(OthersRing, WhereAllOfThemHave) { EXPECT_TRUE(all_ring().others_ring(kLater)); }

TEST(OthersRing, NotIfOneOfWhichWasHeardHasNot) {
  PeerActivity contacts(kMachines);
  contacts.note_heard(0, kBegin, false);
  contacts.note_bell(0);
  EXPECT_TRUE(contacts.others_ring(kLater)) << "nothing is known of the third";
  contacts.note_heard(2, kBegin, false);
  EXPECT_FALSE(contacts.others_ring(kLater));
  contacts.note_bell(2);
  EXPECT_TRUE(contacts.others_ring(kLater));
}

TEST(OthersRing, NotIfOneThatWasAskedHasNot) {
  PeerActivity contacts(kMachines);
  contacts.note_bell(0);
  contacts.expect(2, kBegin);
  EXPECT_FALSE(contacts.others_ring(kLater));
}

TEST(OthersRing, NotIfNobodyHas) {
  EXPECT_FALSE(PeerActivity(kMachines).others_ring(kLater));
  EXPECT_FALSE(PeerActivity(1).others_ring(kLater));
}

TEST(OthersRing, NotWhileOneTakesThisMachineForAwake) {
  PeerActivity sent = all_ring();
  sent.note_sent(2, kLater);
  PeerActivity heard = all_ring();
  heard.note_heard(2, kLater, true);  // That it is drowsy itself changes nothing.
  for (const PeerActivity& contacts : {sent, heard}) {
    EXPECT_FALSE(contacts.others_ring(kLater));
    EXPECT_FALSE(contacts.others_ring(kLater + 6 * kMillisecond - 1));
    EXPECT_TRUE(contacts.others_ring(kLater + 6 * kMillisecond));
  }
}

TEST(OthersRing, UnlessItWasToldThatThisOneIsDrowsy) {
  PeerActivity contacts = all_ring();
  contacts.note_told(2, true);
  contacts.note_sent(2, kLater);
  EXPECT_TRUE(contacts.others_ring(kLater));
  contacts.note_sent(0, kLater);
  EXPECT_FALSE(contacts.others_ring(kLater)) << "the other was told nothing";
  contacts.note_told(0, true);
  EXPECT_TRUE(contacts.others_ring(kLater));
  contacts.note_told(2, false);
  EXPECT_FALSE(contacts.others_ring(kLater));
}

TEST(Silence, CountsFromTheLastMessageOrFromWhenOneWasExpected) {
  PeerActivity contacts(kMachines);
  contacts.note_heard(2, kBegin, false);
  contacts.note_sent(2, kBegin + 2);  // What this one says does not break it.
  EXPECT_EQ(contacts.silent_for(2, kBegin + 5), 5);
  contacts.expect(2, kBegin + 4);
  EXPECT_EQ(contacts.silent_for(2, kBegin + 5), 1);
  contacts.note_heard(2, kBegin + 5, false);
  contacts.expect(2, kBegin + 4);
  EXPECT_EQ(contacts.silent_for(2, kBegin + 5), 0);
}

}  // namespace
}  // namespace syncopate::agent

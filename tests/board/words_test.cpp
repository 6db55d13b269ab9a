// What is packed into a word comes out of it again, at both ends of every field.
#include "board/words.h"

#include <gtest/gtest.h>

namespace syncopate::board {
namespace {

constexpr RoundNumber kRounds[] = {
    0, 1, 2, (RoundNumber{1} << 32) - 1, RoundNumber{1} << 32, (RoundNumber{1} << 52) - 1};

TEST(Words, KeepDecisions) {
  for (const RoundNumber round : kRounds) {
    for (int taken = 0; taken <= 4; ++taken) {
      for (int deposit = 0; deposit <= 4; ++deposit) {
        const DecideWord word{.decided = round, .taken = taken, .deposit = deposit};
        const DecideWord back = DecideWord::unpack(word.pack());
        EXPECT_EQ(back.decided, round);
        EXPECT_EQ(back.taken, taken);
        EXPECT_EQ(back.deposit, deposit);
      }
    }
  }
}

TEST(Words, KeepAttempts) {
  for (const RoundNumber round : kRounds) {
    for (const bool last : {false, true}) {
      for (const int buffer : {0, 1, kMostBuffers - 1}) {
        const AttemptWord word{.round = round, .last = last, .buffer = buffer};
        const AttemptWord back = AttemptWord::unpack(word.pack());
        EXPECT_EQ(back.round, round);
        EXPECT_EQ(back.last, last);
        EXPECT_EQ(back.buffer, buffer);
      }
    }
  }
}

TEST(Words, KeepChunks) {
  using Phase = ChunkWord::Phase;
  for (const RoundNumber tag : kRounds) {
    for (const Phase phase : {Phase::idle, Phase::claimed, Phase::done}) {
      for (const int rank : {0, 1, 1023}) {
        const ChunkWord word{.tag = tag, .phase = phase, .rank = rank};
        const ChunkWord back = ChunkWord::unpack(word.pack());
        EXPECT_EQ(back.tag, tag);
        EXPECT_EQ(back.phase, phase);
        EXPECT_EQ(back.rank, rank);
      }
    }
  }
}

}  // namespace
}  // namespace syncopate::board

// What a group average promises of every step: the sum holds exactly the members' publications,
// Σ/S for those whose weights were in it, (Σ + W′)/(S + 1) or Σ/S and their own steps for the
// others, the same bits for all of a group, within the window; and where all are waited for,
// the newest of all.
#include <string>
#include <tuple>

#include "group/training.h"
#include "support/promise.h"

namespace syncopate::testing {
namespace {

std::vector<int> worlds() {
  std::vector<int> all{1, 2, 3, 5, 6, 7, 8, 13, 16, 32};
  // Under a sanitizer each machine's agent takes its time.
  if (crew_of_this_program() == Crew::machines && kThrift > 1) all.resize(7);
  return all;
}

class GroupSums : public ::testing::TestWithParam<std::tuple<Crew, int, const char*>> {
 protected:
  int ranks() const { return std::get<1>(GetParam()); }
  GroupTraining training() const {
    GroupTraining training;
    training.options.trigger = Trigger::parse(std::get<2>(GetParam()));
    training.elements = 2 * ranks() + 5;
    training.steps = (ranks() > 8 ? 24 : 60) / (thrift() > 1 ? 3 : 1);
    return training;
  }

  template <typename T = float>
  void train_all(const GroupTraining& training) {
    Common<GroupBook> book;
    run(crew_of_this_program(), ranks(), [&](World& world) { train<T>(world, *book, training); });
  }
};

TEST_P(GroupSums, HoldTheMembersPublicationsWhateverTheSizeOfGroups) {
  for (const int size : {0, 1, 2, 3, ranks()}) {
    if (size > ranks()) continue;
    SCOPED_TRACE("groups of " + std::to_string(size));
    GroupTraining one = training();
    one.options.group_size = size;
    train_all(one);
  }
}

TEST_P(GroupSums, HoldThemWhateverTheWindowAndTheSynchronization) {
  for (const auto& [every, window] :
       {std::pair{0, 1}, {0, 3}, {1, 0}, {4, 0}, {4, 2}, {10, 0}, {10, 20}, {0, 0}}) {
    SCOPED_TRACE("everyone every " + std::to_string(every) + ", window " + std::to_string(window));
    GroupTraining one = training();
    one.options.synchronize_every = every;
    one.options.window = window;
    one.straggler = 0;
    one.options.late = every == 10 ? LateMerge::average : LateMerge::keep;
    train_all(one);
  }
}

TEST_P(GroupSums, HoldThemInEveryTypeAndHoweverTheyAreCalled) {
  GroupTraining one = training();
  one.copied = true;
  one.options.late = LateMerge::keep;
  train_all<double>(one);
  // (Sixteen bits are too few to tell from the weights which publications are in them.)
  one.options.late = LateMerge::average;
  one.options.rotate = false;
  train_all<bfloat16>(one);
  one.copied = false;
  one.halves = true;
  train_all<float16>(one);
  one.options.rotate = true;
  train_all<float>(one);
}

TEST_P(GroupSums, HoldThemWithGrace) {
  GroupTraining one = training();
  one.options.grace = grace(std::chrono::microseconds(200));
  train_all(one);
  one.options.grace = automatic_grace(0.2);
  train_all(one);
}

INSTANTIATE_TEST_SUITE_P(, GroupSums,
                         ::testing::Combine(::testing::Values(crew_of_this_program()),
                                            ::testing::ValuesIn(worlds()),
                                            ::testing::Values("first", "all")),
                         [](const auto& test) {
                           return std::to_string(std::get<1>(test.param)) + "_" +
                                  std::get<2>(test.param);
                         });

TEST(GroupLengths, FromNothingToMoreThanTheCachesHold) {
  for (const int ranks : {1, 3, 4}) {
    for (const std::size_t elements : {0, 1, 2, 5, 7, 1023, 4097, 300'001}) {
      SCOPED_TRACE(std::to_string(elements) + " elements");
      Common<GroupBook> book;
      GroupTraining training;
      training.elements = elements;
      training.steps = elements > 10'000 && thrift() > 1 ? 6 : 12;
      training.options.synchronize_every = 5;
      run(crew_of_this_program(), ranks,
          [&](World& world) { train<float>(world, *book, training); });
    }
  }
}

TEST(GroupLengths, BeyondWhereResultsAreWrittenAroundTheCaches) {
  Common<GroupBook> book;
  GroupTraining training;
  training.elements = 3'000'003;
  training.steps = thrift() > 1 ? 2 : 4;
  training.copied = true;
  run(crew_of_this_program(), 3, [&](World& world) { train<float>(world, *book, training); });
}

}  // namespace
}  // namespace syncopate::testing

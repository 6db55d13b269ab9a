// LocalGroup, reducing and passing values on channels, and that channels do not wait for each
// other.
#include <cstring>
#include <numeric>

#include "fabric/company.h"
#include "syncopate/types.h"

namespace syncopate::testing {
namespace {

using fabric::Combine;

/// Small whole numbers, which every type adds exactly.
float value(int of_machine, std::size_t index) {
  return static_cast<float>((static_cast<int>(index % 7) - 3) * (of_machine + 1));
}

template <typename T>
void check_sum(fabric::Channel& channel, std::size_t elements, bool in_place) {
  std::vector<T> mine, result(elements + 1, T(77.F));
  for (std::size_t i = 0; i < elements; ++i) mine.push_back(T(value(machine(), i)));
  if (in_place) std::copy(mine.begin(), mine.end(), result.begin());
  const void* from = in_place ? result.data() : mine.data();
  wait_for(*channel.reduce(from, result.data(), elements, data_type<T>, Combine::sum));
  for (std::size_t i = 0; i < elements; ++i) {
    float expected = 0;
    for (int of = 0; of < machines(); ++of) expected += value(of, i);
    ASSERT_EQ(static_cast<float>(result[i]), expected) << "element " << i << " of " << elements;
  }
  ASSERT_EQ(static_cast<float>(result[elements]), 77.F) << "written beyond the end";
}

template <typename T>
class Sum : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Sum, Types);

TYPED_TEST(Sum, IsRightForEveryLength) {
  AGENTS_ONLY(fabric);
  const auto channel = open(fabric);
  for (const std::size_t elements : {0, 1, 2, 3, 17, 255, 1000, 4099, 100003}) {
    check_sum<TypeParam>(*channel, elements, false);
    check_sum<TypeParam>(*channel, elements, true);
  }
}

TYPED_TEST(Sum, HasTheSameBitsOnEveryMachine) {
  AGENTS_ONLY(fabric);
  const auto channel = open(fabric);
  constexpr std::size_t elements = 20011;
  std::vector<TypeParam> values;
  for (std::size_t i = 0; i < elements; ++i) {
    values.push_back(TypeParam(0.1F * static_cast<float>((i * 31 + machine() * 17) % 1009)));
  }
  wait_for(
      *channel->reduce(values.data(), values.data(), elements, data_type<TypeParam>, Combine::sum));
  const std::size_t bytes = elements * sizeof(TypeParam);
  std::vector<TypeParam> all(elements * machines());
  wait_for(*channel->gather(values.data(), bytes, all.data()));
  for (int of = 0; of < machines(); ++of) {
    EXPECT_EQ(std::memcmp(all.data() + of * elements, values.data(), bytes), 0) << of;
  }
}

TEST(Bits, OfAllMachinesAreJoinedWhateverTheyMean) {
  AGENTS_ONLY(fabric);
  const auto channel = open(fabric);
  const std::vector<std::pair<DataType, std::size_t>> types = {{DataType::float32, 4},
                                                               {DataType::float64, 8}};
  for (const auto& [type, size] : types) {
    for (const std::size_t elements : {0, 1, 5, 1001}) {
      // Bit patterns of signalling NaNs and infinities among them.
      std::vector<unsigned char> mine(elements * size), result(elements * size, 0);
      std::vector<unsigned char> expected(elements * size, 0);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        for (int of = 0; of < machines(); ++of) {
          const auto byte = static_cast<unsigned char>((i * 37 + of * 101) % 256 & 0xf3);
          expected[i] |= byte;
          if (of == machine()) mine[i] = byte;
        }
      }
      wait_for(*channel->reduce(mine.data(), result.data(), elements, type, Combine::bits));
      EXPECT_EQ(result, expected);
      wait_for(*channel->reduce(mine.data(), mine.data(), elements, type, Combine::bits));
      EXPECT_EQ(mine, expected);
    }
  }
}

TEST(Gather, BringsEveryMachinesBytesInOrder) {
  AGENTS_ONLY(fabric);
  const auto channel = open(fabric);
  for (const std::size_t bytes : {0, 1, 3, 100, 4097, 300001}) {
    std::vector<unsigned char> mine, all(bytes * machines(), 0), expected;
    for (int of = 0; of < machines(); ++of) {
      for (std::size_t i = 0; i < bytes; ++i) {
        expected.push_back(static_cast<unsigned char>(i * 7 + of * 13));
        if (of == machine()) mine.push_back(expected.back());
      }
    }
    wait_for(*channel->gather(mine.data(), bytes, all.data()));
    EXPECT_EQ(all, expected) << bytes;
  }
}

TEST(Pass, ValuesToTheNextMachineInOrderForEachTag) {
  AGENTS_ONLY(fabric);
  const auto channel = open(fabric);
  const int next = (machine() + 1) % machines();
  const int previous = (machine() + machines() - 1) % machines();
  constexpr int highest_tag = 32767;
  for (const std::size_t count : {0, 1, 1000, 100003}) {
    std::vector<int> first(count), second(count), low(count, -1), high(count, -1);
    std::iota(first.begin(), first.end(), machine());
    std::iota(second.begin(), second.end(), -machine());
    const std::size_t bytes = count * sizeof(int);
    std::vector<std::unique_ptr<fabric::Operation>> under_way;
    under_way.push_back(channel->receive(previous, highest_tag, high.data(), bytes));
    under_way.push_back(channel->receive(previous, 0, low.data(), bytes));
    under_way.push_back(channel->send(next, 0, first.data(), bytes));
    under_way.push_back(channel->send(next, highest_tag, second.data(), bytes));
    for (const auto& operation : under_way) wait_for(*operation);
    std::iota(first.begin(), first.end(), previous);
    std::iota(second.begin(), second.end(), -previous);
    EXPECT_EQ(low, first);
    EXPECT_EQ(high, second);
  }
}

TEST(Channels, MayBeginInAnotherOrderOnEveryMachine) {
  AGENTS_ONLY(fabric);
  constexpr int count = 4;
  constexpr std::size_t elements = 5000;
  std::vector<std::unique_ptr<fabric::Channel>> channels(count);
  std::vector<std::unique_ptr<fabric::Operation>> under_way;
  for (auto& channel : channels) under_way.push_back(fabric.open(channel));
  // Asked for from the last to the first: the earlier ones move on with the later ones.
  for (int i = count; i-- > 0;) wait_for(*under_way[i]);
  under_way.clear();

  for (int turn = 0; turn < 20; ++turn) {
    std::vector<std::vector<float>> values(count);
    for (int i = 0; i < count; ++i) {
      const int which = (i + machine() + turn) % count;
      values[which].assign(elements, static_cast<float>(which + 1));
      under_way.push_back(channels[which]->reduce(values[which].data(), values[which].data(),
                                                  elements, DataType::float32, Combine::sum));
    }
    for (const auto& operation : under_way) wait_for(*operation);
    under_way.clear();
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(values[i], std::vector<float>(elements, static_cast<float>((i + 1) * machines())));
    }
  }
}

TEST(Channels, AreOpenedWhileOthersAreAtWork) {
  AGENTS_ONLY(fabric);
  const auto first = open(fabric);
  std::vector<float> values(50000, 1);
  std::unique_ptr<fabric::Channel> second;
  // On one machine the reduction begins before the opening, on the next after it.
  std::unique_ptr<fabric::Operation> reduction, opening;
  const auto reduce = [&] {
    reduction =
        first->reduce(values.data(), values.data(), values.size(), DataType::float32, Combine::sum);
  };
  if (machine() % 2 == 0) reduce();
  opening = fabric.open(second);
  if (machine() % 2 != 0) {
    wait_for(*opening);
    reduce();
    wait_for(*reduction);
  } else {
    wait_until([&] { return static_cast<int>(opening->done()) + reduction->done() == 2; }, "both");
  }
  EXPECT_EQ(values, std::vector<float>(values.size(), static_cast<float>(machines())));
}

// An MPI has only some thousands of communicators.
TEST(Channels, AreUsedAgain) {
  AGENTS_ONLY(fabric);
  if (machines() > 2) GTEST_SKIP() << "takes long with many machines on few cores";
  for (int turn = 0; turn < 2500; ++turn) open(fabric);
}

// What was sent and never received must not come out of a later channel.
TEST(Channels, AreNotUsedAgainWithSomethingLeftInThem) {
  AGENTS_ONLY(fabric);
  if (machines() == 1) GTEST_SKIP() << "MPICH keeps nothing that a machine sends to itself";
  const int next = (machine() + 1) % machines(),
            previous = (machine() + machines() - 1) % machines();
  for (int turn = 0; turn < 3; ++turn) {
    const auto channel = open(fabric);
    const int lost = 13;
    wait_for(*channel->send(next, 0, &lost, sizeof lost));
  }
  for (int turn = 0; turn < 3; ++turn) {
    const auto channel = open(fabric);
    const int sent = machine();
    int got = -1;
    const auto receiving = channel->receive(previous, 0, &got, sizeof got);
    wait_for(*channel->send(next, 0, &sent, sizeof sent));
    wait_for(*receiving);
    EXPECT_EQ(got, previous);
  }
}

TEST(Channels, ComeAndGoInAnyOrder) {
  AGENTS_ONLY(fabric);
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<std::unique_ptr<fabric::Channel>> channels;
    for (int i = 0; i < 3; ++i) channels.push_back(open(fabric));
    channels[(machine() + turn) % 3].reset();
    channels[(machine() + turn + 1) % 3].reset();
    // The one that is left differs from machine to machine.
    const auto channel = open(fabric);
    float one = 1;
    wait_for(*channel->reduce(&one, &one, 1, DataType::float32, Combine::sum));
    EXPECT_EQ(one, machines());
  }
}

}  // namespace
}  // namespace syncopate::testing

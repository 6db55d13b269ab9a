// Every element type and every kind of length: none, one, odd, off the width of a vector
// register by one, and large enough to be cut into many chunks.
#include "support/promise.h"

namespace syncopate::testing {
namespace {

struct Length {
  std::size_t elements;
  int steps;
};

constexpr Length kLengths[] = {{0, 20},    {1, 20},    {2, 20},    {3, 20},    {7, 20},
                               {8, 20},    {15, 20},   {16, 20},   {17, 20},   {31, 20},
                               {33, 20},   {63, 20},   {64, 20},   {65, 20},   {127, 20},
                               {1000, 20}, {4095, 20}, {4097, 20}, {65537, 4}, {(1 << 20) + 3, 2}};

class Lengths : public ::testing::TestWithParam<std::tuple<DataType, int>> {};

template <typename T>
void train_at_all_lengths(int ranks) {
  for (const Length& length : kLengths) {
    if (length.elements > 10000 && thrift() > 1 && ranks > 3) continue;
    const auto number = &length - kLengths;
    for (const char* trigger : kTriggers) {
      // Each length with one of them, where that takes its time.
      if (thrift() > 1 && trigger != kTriggers[number % 4]) continue;
      SCOPED_TRACE(std::to_string(length.elements) + " elements, " + trigger);
      Training training;
      training.options.trigger = trigger_named(trigger, ranks);
      training.elements = length.elements;
      training.steps = length.steps;
      training.seed = length.elements;
      Common<AuditBook> book;
      run(crew_of_this_program(), ranks,
          [&](World& world) { Trainee<T>(world, *book, training).run(); });
    }
  }
}

TEST_P(Lengths, OfEveryKindAddUp) {
  const auto [type, ranks] = GetParam();
  switch (type) {
    case DataType::float32:
      return train_at_all_lengths<float>(ranks);
    case DataType::float64:
      return train_at_all_lengths<double>(ranks);
    case DataType::bfloat16:
      return train_at_all_lengths<bfloat16>(ranks);
    case DataType::float16:
      return train_at_all_lengths<float16>(ranks);
  }
}

std::string name(const ::testing::TestParamInfo<Lengths::ParamType>& test) {
  const auto [type, ranks] = test.param;
  return std::string(to_string(type)) + "_" + std::to_string(ranks) +
         kCrewNames[static_cast<int>(crew_of_this_program())];
}

INSTANTIATE_TEST_SUITE_P(, Lengths,
                         ::testing::Combine(::testing::Values(DataType::float32, DataType::float64,
                                                              DataType::bfloat16,
                                                              DataType::float16),
                                            ::testing::ValuesIn(rank_counts({1, 3, 5}))),
                         name);

}  // namespace
}  // namespace syncopate::testing

#include "strategy/gradients.h"

namespace syncopate::strategy {

const Entry& eager_majority() {
  static const Entry entry{
      {.name = "eager-majority",
       .summary = "gradients; a rank drawn for each round starts it, late ones are carried",
       .paper = "eager-SGD, arXiv 1908.04207",
       .parameters = with_eager_parameters({})},
      [](const Values& values, int) -> Maker {
        const GradientOptions options = read_eager_options(values);
        return [options](const Training& training) {
          GradientOptions seeded = options;
          seeded.rounds.trigger = majority(training.seed);
          return std::make_unique<Gradients>(training, seeded);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy

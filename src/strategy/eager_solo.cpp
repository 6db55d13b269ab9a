#include "strategy/gradients.h"

namespace syncopate::strategy {

const Entry& eager_solo() {
  static const Entry entry{
      {.name = "eager-solo",
       .summary = "gradients; the first rank to arrive starts the round, late ones are carried",
       .paper = "eager-SGD, arXiv 1908.04207",
       .parameters = with_eager_parameters({})},
      [](const Values& values, int) -> Maker {
        GradientOptions options = read_eager_options(values);
        options.rounds.trigger = first();
        return [options](const Training& training) {
          return std::make_unique<Gradients>(training, options);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy

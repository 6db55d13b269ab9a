#include "strategy/gradients.h"

namespace syncopate::strategy {

const Entry& eager_quorum() {
  static const Entry entry{
      {.name = "eager-quorum",
       .summary = "gradients; K ranks start the round, late ones are carried",
       .paper = "eager-SGD, arXiv 1908.04207 (the quorum of its theory)",
       .parameters = with_eager_parameters({{.name = "K",
                                             .standard = "",
                                             .meaning = "ranks whose arrival starts a round",
                                             .by_place = true}})},
      [](const Values& values, int ranks) -> Maker {
        GradientOptions options = read_eager_options(values);
        options.rounds.trigger = count(values.whole("K", 1, ranks));
        return [options](const Training& training) {
          return std::make_unique<Gradients>(training, options);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy

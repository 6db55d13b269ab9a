#include "strategy/gradients.h"

namespace syncopate::strategy {

const Entry& m_sync() {
  static const Entry entry{
      {.name = "m-sync",
       .summary = "the mean of the first M gradients of the current model; later ones are dropped",
       .paper = "m-synchronous SGD, arXiv 2602.03802; backup workers, arXiv 1604.00981",
       .parameters = {{.name = "M",
                       .standard = "",
                       .meaning = "gradients that make a step",
                       .by_place = true},
                      // Nothing to anticipate: gradients of older models are dropped.
                      grace_parameter("off"),
                      ahead_parameter("0"),
                      momentum_by_mass_parameter("off"),
                      window_parameter("32")}},
      [](const Values& values, int ranks) -> Maker {
        const int step = values.whole("M", 1, ranks);
        const GradientOptions options{.rounds = {.trigger = count(step),
                                                 .late = drop(),
                                                 .grace = values.grace("grace"),
                                                 .scale = Scale::contributors,
                                                 .window = read_window(values)},
                                      .ahead = read_ahead(values),
                                      .momentum_by_mass = values.on("momentum-by-mass"),
                                      .whole = step};
        return [options](const Training& training) {
          return std::make_unique<Gradients>(training, options);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy

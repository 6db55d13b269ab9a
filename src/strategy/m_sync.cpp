#include "collective/options.h"
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
                      {.name = "window",
                       .standard = "32",
                       .meaning = "rounds a rank may lag behind before the others wait for it"}}},
      [](const Values& values, int ranks) -> Maker {
        GradientOptions options;
        options.rounds.trigger = count(values.whole("M", 1, ranks));
        options.rounds.window = values.whole("window", 1, detail::kLargestWindow);
        options.rounds.late = drop();
        options.rounds.scale = Scale::contributors;
        return [options](const Training& training) {
          return std::make_unique<Gradients>(training, options);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy

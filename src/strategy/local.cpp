#include "strategy/local.h"

namespace syncopate::strategy {

const Entry& local() {
  static const Entry entry{
      {.name = "local",
       .summary = "local steps; the weights of all ranks are averaged every H of them",
       .paper = "local SGD, arXiv 1805.09767",
       .parameters = {{.name = "H",
                       .standard = "10",
                       .meaning = "steps between two averages",
                       .by_place = true}}},
      [](const Values& values, int) -> Maker {
        const int every = values.whole("H", 1, kMostSteps);
        return
            [every](const Training& training) { return std::make_unique<Local>(training, every); };
      }};
  return entry;
}

}  // namespace syncopate::strategy

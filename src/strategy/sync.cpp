#include "strategy/gradients.h"

namespace syncopate::strategy {

const Entry& sync() {
  static const Entry entry{{.name = "sync",
                            .summary = "gradients of all ranks, every step waits for everyone",
                            .paper = "Allreduce-SGD, the synchronous baseline",
                            .parameters = {ahead_parameter("0")}},
                           [](const Values& values, int) -> Maker {
                             const GradientOptions options{.ahead = read_ahead(values)};
                             return [options](const Training& training) {
                               return std::make_unique<Gradients>(training, options);
                             };
                           }};
  return entry;
}

}  // namespace syncopate::strategy

#include "strategy/gradients.h"

namespace syncopate::strategy {

const Entry& sync() {
  static const Entry entry{{.name = "sync",
                            .summary = "gradients of all ranks, every step waits for everyone",
                            .paper = "Allreduce-SGD, the synchronous baseline",
                            .parameters = {}},
                           [](const Values&, int) -> Maker {
                             return [](const Training& training) {
                               return std::make_unique<Gradients>(training, GradientOptions{});
                             };
                           }};
  return entry;
}

}  // namespace syncopate::strategy

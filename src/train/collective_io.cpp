#include "train/collective_io.h"

#include <exception>

namespace syncopate::train {

CollectiveIo::Failure CollectiveIo::each(const std::function<void()>& action) {
  Failure failure;
  try {
    action();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  *failures_.slot() = failure ? 1.0F : 0.0F;
  const auto rounds = failures_.exchange();
  present_ = rounds.front().receipt().contributors;
  leader_ = present_.list().front();
  if (rounds.front().sum()[0] > 0 && !failure) failure = "another rank failed";
  return failure;
}

CollectiveIo::Failure CollectiveIo::one(const std::function<void()>& action) {
  for (;;) {
    const int leader = leader_;
    Failure failure = each([&] {
      if (world_.rank() == leader) action();
    });
    // A rank that comes before all that are here is gone.
    if (leader_ <= leader) return failure;
  }
}

}  // namespace syncopate::train

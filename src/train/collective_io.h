// Work on files that ranks do together: each its part, or one of them for all.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "syncopate/allreduce.h"
#include "syncopate/world.h"

namespace syncopate::train {

class CollectiveIo {
 public:
  explicit CollectiveIo(const World& world) : world_(world), failures_(world, 1) {}

  /// What went wrong, as this rank knows it. Either all ranks get one or none does.
  using Failure = std::optional<std::string>;

  /// Every rank does it. Returns when all have.
  Failure each(const std::function<void()>& action);
  /// One rank does it for all. If it is gone before all know that it has, another does it again.
  Failure one(const std::function<void()>& action);

  /// The ranks that took part in the last of these calls that has come to its end.
  const RankSet& present() const { return present_; }

 private:
  World world_;
  Allreduce<float> failures_;
  RankSet present_;
  int leader_ = 0;  ///< The first rank of the last exchange, as all know it.
};

}  // namespace syncopate::train

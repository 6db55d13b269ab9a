#include "explorer/schedulers.h"

namespace syncopate::testing {
namespace {

/// The named steps that come right before an access to a shared word: switching there and at
/// the access is the same.
bool comes_before_an_access(Step at) {
  switch (at) {
    case Step::deposit:
    case Step::start:
    case Step::decide:
    case Step::claim:
    case Step::done:
    case Step::publish:
    case Step::advance:
    case Step::wake:
    case Step::release:
    case Step::retry:
      return true;
    default:
      return false;
  }
}

}  // namespace

int Systematic::choose(Ranks ready, int current, Step at) {
  const bool preempts = current != Machine::kNobody;
  if (preempts && comes_before_an_access(at)) return current;
  // Option 0 goes on with the rank that ran, or with the lowest; the others follow in order.
  std::array<int, Machine::kMostRanks> order;
  int options = 0;
  if (preempts) order[options++] = current;
  for (Ranks rest = ready; rest != 0; rest &= rest - 1) {
    if (const int rank = std::countr_zero(rest); rank != current) order[options++] = rank;
  }
  if (played_ == points_.size()) points_.push_back({});
  Point& point = points_[played_];
  point.options = options;
  point.free = !preempts && order_ == Order::free;
  point.spent =
      (played_ > 0 ? points_[played_ - 1].spent : 0) + (!point.free && point.option > 0 ? 1 : 0);
  ++played_;
  return order[point.option < options ? point.option : 0];
}

bool Systematic::next() {
  points_.resize(played_);
  played_ = 0;
  while (!points_.empty()) {
    Point& point = points_.back();
    const int before = points_.size() > 1 ? points_[points_.size() - 2].spent : 0;
    if (point.option + 1 < point.options && before + (point.free ? 0 : 1) <= most_) {
      ++point.option;
      return true;
    }
    points_.pop_back();
  }
  return false;
}

std::vector<Systematic::Deviation> Systematic::deviations() const {
  std::vector<Deviation> result;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].option > 0) {
      result.push_back({.point = static_cast<int>(i), .option = points_[i].option});
    }
  }
  return result;
}

}  // namespace syncopate::testing

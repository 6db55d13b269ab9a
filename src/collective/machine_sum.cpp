#include "collective/machine_sum.h"

#include <numeric>

#include "board/kernel.h"

namespace syncopate::detail {

MachineSum::MachineSum(fabric::Channel& channel, const fabric::Place& place, std::size_t bytes,
                       fabric::Combine combine)
    : channel_(channel), combine_(combine) {
  if (combine != fabric::Combine::sum || !SumByParts::pays(bytes, place.machines())) return;
  std::vector<int> machines(place.machines());
  std::iota(machines.begin(), machines.end(), 0);
  parts_.emplace(channel, std::move(machines), place.machine);
}

void MachineSum::begin(const MachineSumVectors& vectors, int tag) {
  if (parts_) return parts_->begin(vectors, tag);
  vectors_ = vectors;
  if (vectors.scale != 1) sum_.resize(vectors.elements * size_of(vectors.type));
  reduction_ = channel_.reduce(vectors.mine, vectors.scale != 1 ? sum_.data() : vectors.result,
                               vectors.elements, vectors.type, combine_);
}

bool MachineSum::done(std::uint64_t& moves) {
  if (parts_) return parts_->done(moves);
  if (reduction_ == nullptr) return true;
  if (!reduction_->done()) return false;
  reduction_.reset();
  ++moves;
  if (vectors_.scale != 1) {
    const board::Term sum{.values = sum_.data(), .weight = 1};
    board::weighted_sum(vectors_.type, vectors_.elements, {&sum, 1}, vectors_.scale,
                        vectors_.result);
  }
  return true;
}

}  // namespace syncopate::detail

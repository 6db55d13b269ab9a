#include "collective/sum_by_parts.h"

#include <algorithm>

#include "board/kernel.h"

namespace syncopate::detail {

bool all_done(Operations& operations, std::uint64_t& moves) {
  moves += std::erase_if(operations, [](const auto& operation) { return operation->done(); });
  return operations.empty();
}

SumByParts::SumByParts(fabric::Channel& channel, std::vector<int> machines, int own)
    : channel_(channel),
      machines_(std::move(machines)),
      own_(std::lower_bound(machines_.begin(), machines_.end(), own) - machines_.begin()) {}

std::pair<std::size_t, std::size_t> SumByParts::part(std::size_t index) const {
  const std::size_t count = machines_.size();
  return {vectors_.elements * index / count, vectors_.elements * (index + 1) / count};
}

void SumByParts::begin(const Vectors& vectors, int tag) {
  vectors_ = vectors;
  tag_ = tag;
  added_up_ = false;
  const auto [own_begin, own_end] = part(own_);
  const std::size_t own_bytes = bytes(own_end - own_begin);
  const std::size_t count = machines_.size();
  parts_.resize(own_bytes * (count - 1));
  // Sent before received, as a fabric may move what has come when it is asked for, and only then
  // return. Each begins with the machine after its own, so that not all send to one.
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t other = (own_ + step) % count;
    const auto [begin, end] = part(other);
    sent_.push_back(channel_.send(machines_[other], tag,
                                  static_cast<const std::byte*>(vectors.mine) + bytes(begin),
                                  bytes(end - begin)));
  }
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t other = (own_ + step) % count;
    const auto [begin, end] = part(other);
    std::byte* theirs = parts_.data() + (other - (other > own_ ? 1 : 0)) * own_bytes;
    parts_received_.push_back(channel_.receive(machines_[other], tag, theirs, own_bytes));
    sums_received_.push_back(
        channel_.receive(machines_[other], tag + 1, result(begin), bytes(end - begin)));
  }
}

void SumByParts::add_up() {
  added_up_ = true;
  const auto [begin, end] = part(own_);
  const std::size_t own_bytes = bytes(end - begin);
  std::vector<board::Term> terms;
  const std::byte* theirs = parts_.data();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const bool own = i == own_;
    terms.push_back(
        {.values = own ? static_cast<const std::byte*>(vectors_.mine) + bytes(begin) : theirs,
         .weight = 1});
    if (!own) theirs += own_bytes;
  }
  board::weighted_sum(vectors_.type, end - begin, terms, vectors_.scale, result(begin));
  for (std::size_t step = 1; step < machines_.size(); ++step) {
    const std::size_t other = (own_ + step) % machines_.size();
    sent_.push_back(channel_.send(machines_[other], tag_ + 1, result(begin), own_bytes));
  }
}

bool SumByParts::done(std::uint64_t& moves) {
  if (!added_up_) {
    if (!all_done(parts_received_, moves)) return false;
    add_up();
  }
  return all_done(sums_received_, moves) && all_done(sent_, moves);
}

}  // namespace syncopate::detail

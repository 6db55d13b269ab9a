#include "fabric/sum_by_parts.h"

#include <algorithm>

#include "kernel/kernel.h"

namespace syncopate::fabric {

std::size_t SumByParts::piece_bytes(std::size_t machines) {
  constexpr std::size_t kOfMachine = 64 << 10;
  constexpr std::size_t kSmallest = 2 << 20;  // Shorter ones cost more time than they overlap.
  constexpr std::size_t kLargest = 4 << 20;
  return std::clamp(kOfMachine * machines, kSmallest, kLargest);
}

SumByParts::SumByParts(fabric::Channel& channel, std::vector<int> machines, int own)
    : channel_(channel),
      machines_(std::move(machines)),
      own_(std::lower_bound(machines_.begin(), machines_.end(), own) - machines_.begin()) {}

bool SumByParts::all_done(Operations& operations, std::uint64_t& moves) {
  // One at a time: the thread that asks for one moves the others on as well.
  while (!operations.empty() && operations.back()->done()) {
    operations.pop_back();
    ++moves;
  }
  return operations.empty();
}

std::pair<std::size_t, std::size_t> SumByParts::part(std::size_t index) const {
  const std::size_t count = machines_.size();
  const std::size_t elements = piece_end_ - piece_begin_;
  return {piece_begin_ + elements * index / count, piece_begin_ + elements * (index + 1) / count};
}

void SumByParts::begin(const MachineSumVectors& vectors, int tag) {
  vectors_ = vectors;
  tag_ = tag;
  begin_piece(0);
}

void SumByParts::begin_piece(std::size_t begin) {
  const std::size_t count = machines_.size();
  piece_begin_ = begin;
  piece_end_ = std::min(vectors_.elements, begin + piece_bytes(count) / size_of(vectors_.type));
  added_up_ = expected_ = false;
  const auto [own_begin, own_end] = part(own_);
  const std::size_t own_bytes = bytes(own_end - own_begin);
  if (parts_.size() < own_bytes * (count - 1)) parts_.resize(own_bytes * (count - 1));
  // Sent before received, as a fabric may move what has come when it is asked for, and only then
  // return. Each begins with the machine after its own, so that not all send to one.
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t other = (own_ + step) % count;
    const auto [from, to] = part(other);
    parts_sent_.push_back(channel_.send(machines_[other], tag_, mine(from), bytes(to - from)));
  }
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t other = (own_ + step) % count;
    std::byte* theirs = parts_.data() + (other - (other > own_ ? 1 : 0)) * own_bytes;
    parts_received_.push_back(channel_.receive(machines_[other], tag_, theirs, own_bytes));
  }
}

void SumByParts::add_up() {
  added_up_ = true;
  const auto [begin, end] = part(own_);
  std::vector<board::Term> terms(machines_.size());
  const std::byte* theirs = parts_.data();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    terms[i] = {.values = i == own_ ? mine(begin) : theirs, .weight = 1};
    if (i != own_) theirs += bytes(end - begin);
  }
  board::weighted_sum(vectors_.type, end - begin, terms, vectors_.scale, result(begin));
  for (std::size_t step = 1; step < machines_.size(); ++step) {
    const std::size_t other = (own_ + step) % machines_.size();
    sums_sent_.push_back(
        channel_.send(machines_[other], tag_ + 1, result(begin), bytes(end - begin)));
  }
}

void SumByParts::expect_sums() {
  expected_ = true;
  for (std::size_t step = 1; step < machines_.size(); ++step) {
    const std::size_t other = (own_ + step) % machines_.size();
    const auto [from, to] = part(other);
    sums_received_.push_back(
        channel_.receive(machines_[other], tag_ + 1, result(from), bytes(to - from)));
  }
}

bool SumByParts::done(std::uint64_t& moves) {
  for (;;) {
    if (!expected_ && all_done(parts_sent_, moves)) expect_sums();
    if (!added_up_) {
      if (!all_done(parts_received_, moves)) return false;
      add_up();
    }
    if (!expected_ || !all_done(sums_received_, moves) || !all_done(sums_sent_, moves)) {
      return false;
    }
    if (piece_end_ == vectors_.elements) return true;
    begin_piece(piece_end_);
  }
}

}  // namespace syncopate::fabric

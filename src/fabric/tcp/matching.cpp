#include "fabric/tcp/matching.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/bad_message.h"

namespace syncopate::fabric::tcp {
namespace {

template <typename Map>
void erase_channel(Map& ways, std::uint32_t channel) {
  const auto begin = ways.lower_bound(Way{channel, 0});
  auto end = begin;
  while (end != ways.end() && end->first.channel == channel) ++end;
  ways.erase(begin, end);
}

}  // namespace

void Receiving::fill(Transfer& transfer, const std::vector<std::byte>& values) const {
  if (values.size() != transfer.bytes) {
    throw BadMessage(machine_, "has " + std::to_string(values.size()) + " bytes where " +
                                   std::to_string(transfer.bytes) + " are expected");
  }
  if (!transfer.given_up && !values.empty()) {
    std::memcpy(transfer.into, values.data(), values.size());
  }
  transfer.done = true;
}

void Receiving::expect(Way way, const TransferPointer& transfer) {
  Waiting& waiting = waiting_[way];
  if (is_long(transfer->bytes)) return waiting.long_ones.push_back(transfer);
  if (waiting.early.empty()) return waiting.short_ones.push_back(transfer);
  const std::vector<std::byte> values = std::move(waiting.early.front());
  waiting.early.pop_front();
  early_bytes_ -= values.size() + kEarlyCosts;
  drop_if_empty(way);
  fill(*transfer, values);
}

void Receiving::drop_if_empty(Way way) {
  const auto at = waiting_.find(way);
  if (at == waiting_.end()) return;
  const Waiting& waiting = at->second;
  if (waiting.early.empty() && waiting.short_ones.empty() && waiting.long_ones.empty()) {
    waiting_.erase(at);
  }
}

void Receiving::forget(std::uint32_t channel) {
  for (auto at = waiting_.lower_bound(Way{channel, 0});
       at != waiting_.end() && at->first.channel == channel; ++at) {
    for (const auto& values : at->second.early) early_bytes_ -= values.size() + kEarlyCosts;
  }
  erase_channel(waiting_, channel);
}

void Receiving::begin(const Frame& frame) {
  frame_ = frame;
  current_.reset();
  ignored_ = channels_.over(frame.channel);
  if (ignored_) return;
  frame.kind == Frame::Kind::values ? begin_values(frame) : begin_piece(frame);
}

void Receiving::begin_values(const Frame& frame) {
  const auto at = waiting_.find({frame.channel, frame.tag});
  if (at != waiting_.end() && !at->second.short_ones.empty()) {
    if (frame.length != at->second.short_ones.front()->bytes) {
      throw BadMessage(machine_, "brings another number of values than are expected");
    }
    current_ = std::move(at->second.short_ones.front());
    at->second.short_ones.pop_front();
    return;
  }
  if (early_bytes_ + frame.length + kEarlyCosts > kMostEarly) {
    throw BadMessage(machine_, "brings values that are not asked for, after many others");
  }
  early_bytes_ += frame.length + kEarlyCosts;
  early_.resize(frame.length);
}

void Receiving::begin_piece(const Frame& frame) {
  const auto at = waiting_.find({frame.channel, frame.tag});
  if (at == waiting_.end() || at->second.long_ones.empty()) {
    throw BadMessage(machine_, "is a piece of values that are not asked for");
  }
  current_ = at->second.long_ones.front();
  if (frame.length > current_->bytes - current_->moved) {
    throw BadMessage(machine_, "is a piece of more values than are expected");
  }
}

std::byte* Receiving::payload() {
  if (ignored_) return nullptr;
  if (current_ == nullptr) return early_.data();
  return current_->given_up ? nullptr : current_->into + current_->moved;
}

void Receiving::end() {
  if (ignored_) return;
  const Way way{frame_.channel, frame_.tag};
  const bool over = channels_.over(frame_.channel);  // Since the frame began.
  if (current_ == nullptr) {
    // An operation may have come for them meanwhile.
    const auto at = waiting_.find(way);
    const bool expected = at != waiting_.end() && !at->second.short_ones.empty();
    if (!expected && !over) return waiting_[way].early.push_back(std::move(early_));
    early_bytes_ -= early_.size() + kEarlyCosts;
    if (!expected) return;
    fill(*at->second.short_ones.front(), early_);
    at->second.short_ones.pop_front();
  } else {
    current_->moved += frame_.length;
    current_->done = current_->moved == current_->bytes;
    if (over || !current_->done) return;
    if (frame_.kind == Frame::Kind::piece) waiting_[way].long_ones.pop_front();
  }
  drop_if_empty(way);
}

void LongSends::offer(Way way, const TransferPointer& transfer) {
  const auto at = waiting_.try_emplace(way).first;
  at->second.offered.push_back(transfer);
  match(at);
}

void LongSends::note_ready(Way way, std::uint64_t bytes) {
  if (++ready_ > kMostReady) throw BadMessage(machine_, "waits for more values than anyone can");
  const auto at = waiting_.try_emplace(way).first;
  at->second.ready.push_back(bytes);
  match(at);
}

void LongSends::match(std::map<Way, Waiting>::iterator at) {
  Waiting& waiting = at->second;
  while (!waiting.offered.empty() && !waiting.ready.empty()) {
    if (waiting.offered.front()->bytes != waiting.ready.front()) {
      throw BadMessage(machine_, "waits for another number of values than it gets");
    }
    sendable_.push_back({at->first, std::move(waiting.offered.front())});
    waiting.offered.pop_front();
    waiting.ready.pop_front();
    --ready_;
  }
  if (waiting.offered.empty() && waiting.ready.empty()) waiting_.erase(at);
}

void LongSends::forget(std::uint32_t channel) {
  for (auto at = waiting_.lower_bound(Way{channel, 0});
       at != waiting_.end() && at->first.channel == channel; ++at) {
    ready_ -= at->second.ready.size();
  }
  erase_channel(waiting_, channel);
}

}  // namespace syncopate::fabric::tcp

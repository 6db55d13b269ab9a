#include "fabric/tcp/inbound.h"

#include <algorithm>
#include <cstring>

namespace syncopate::fabric::tcp {

void Inbound::take(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (head_bytes_ < kHeadBytes) {
      const std::size_t part = std::min(kHeadBytes - head_bytes_, bytes.size());
      std::memcpy(head_.data() + head_bytes_, bytes.data(), part);
      head_bytes_ += part;
      bytes = bytes.subspan(part);
      if (head_bytes_ == kHeadBytes) begin_frame();
      continue;
    }
    const std::size_t part = std::min<std::size_t>(frame_.payload() - payload_bytes_, bytes.size());
    if (std::byte* const place = sink_.payload()) {
      std::memcpy(place + payload_bytes_, bytes.data(), part);
    }
    bytes = bytes.subspan(part);
    note_payload(part);
  }
}

void Inbound::begin_frame() {
  frame_ = unpack_frame(head_, machine_);
  payload_bytes_ = 0;
  sink_.begin(frame_);
  note_payload(0);
}

void Inbound::note_payload(std::size_t bytes) {
  payload_bytes_ += bytes;
  if (payload_bytes_ < frame_.payload()) return;
  head_bytes_ = 0;
  sink_.end(frame_);
}

std::span<std::byte> Inbound::direct() {
  if (head_bytes_ < kHeadBytes) return {};
  const std::size_t left = frame_.payload() - payload_bytes_;
  std::byte* const place = left >= kDirect ? sink_.payload() : nullptr;
  if (place == nullptr) return {};
  return {place + payload_bytes_, left};
}

}  // namespace syncopate::fabric::tcp

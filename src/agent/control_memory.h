// The first pages of a board: its roster, and behind it what the ranks of a machine and its agent
// tell each other. Regions of collectives follow.
#pragma once

#include <cstddef>
#include <memory>

#include "agent/mailbox.h"
#include "board/layout.h"
#include "board/roster.h"
#include "board/segment.h"

namespace syncopate::agent {

class ControlMemory {
 public:
  explicit ControlMemory(board::Segment& segment) : mapping_(segment.map(0, bytes())) {}

  static std::size_t bytes() {
    return board::Segment::whole_pages(mailbox_offset() + AgentMailbox::bytes());
  }
  std::byte* roster() const { return mapping_->data(); }
  std::byte* mailbox() const { return mapping_->data() + mailbox_offset(); }

 private:
  static std::size_t mailbox_offset() {
    constexpr std::size_t kUnit = board::Layout::kUnit;
    return (board::Seats::bytes(board::kMaxRanks) + kUnit - 1) / kUnit * kUnit;
  }

  std::shared_ptr<board::Mapping> mapping_;
};

}  // namespace syncopate::agent

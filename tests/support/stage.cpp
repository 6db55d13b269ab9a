#include "support/stage.h"

#include <cstring>
#include <new>

#include "board/layout.h"

namespace syncopate::testing {

Stage::~Stage() = default;

Stage::Memory::~Memory() { ::operator delete (data_, std::align_val_t{board::Layout::kUnit}); }

std::byte* Stage::Memory::zeroed(std::size_t bytes) {
  if (bytes > size_) {
    ::operator delete (data_, std::align_val_t{board::Layout::kUnit});
    data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{board::Layout::kUnit}));
    size_ = bytes;
  }
  std::memset(data_, 0, bytes);
  return data_;
}

void Stage::set(int ranks) {
  machine_.reset();
  rosters_.clear();
  std::byte* memory = roster_memory_.zeroed(board::Seats::bytes(ranks));
  board::Seats::prepare(memory, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank >= static_cast<int>(platforms_.size())) {
      platforms_.push_back(std::make_unique<ScriptedPlatform>(machine_, rank));
    }
    rosters_.push_back(std::make_unique<board::Roster>(memory, rank, *platforms_[rank]));
    rosters_.back()->seat().join({.pid = static_cast<std::uint32_t>(rank + 1), .started = 1});
  }
}

}  // namespace syncopate::testing

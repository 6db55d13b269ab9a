#include "board/interrupt.h"

#include <atomic>
#include <string>

#include "syncopate/error.h"

namespace syncopate {
namespace {

std::atomic<int (*)()> interrupt = nullptr;

}  // namespace

void set_interrupt(int (*go_on)()) { interrupt.store(go_on); }

void board::check_interrupt(int rank) {
  int (*const go_on)() = interrupt.load();
  if (go_on == nullptr || go_on() != 0) return;
  throw Error(ErrorCode::interrupted, "rank " + std::to_string(rank) + " was told to stop waiting",
              "End the rank, or call again to go on waiting");
}

}  // namespace syncopate

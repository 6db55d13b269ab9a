#include "board/interrupt.h"

#include <atomic>

namespace syncopate {
namespace {

std::atomic<int (*)()> interrupt = nullptr;

}  // namespace

void set_interrupt(int (*go_on)()) { interrupt.store(go_on); }

bool board::interrupted() {
  int (*const go_on)() = interrupt.load();
  return go_on != nullptr && go_on() == 0;
}

}  // namespace syncopate

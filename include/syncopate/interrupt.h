// Ending a wait from outside of it: for programs whose signals are handled by an interpreter, say,
// that a rank which waits here would keep from running.
#pragma once

namespace syncopate {

/// Threads of this process that wait call `go_on` about every 20 ms. Where it returns 0, the wait
/// throws Error(interrupted), as if its time were up. Null, as at the beginning: no wait ends so.
void set_interrupt(int (*go_on)());

}  // namespace syncopate

// What a rank does after a deposit.
#pragma once

namespace syncopate::detail {

enum class Then : bool {
  go_on,  // It does something else.
  wait,   // It waits for a round.
};

}  // namespace syncopate::detail

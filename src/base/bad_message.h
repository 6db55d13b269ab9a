// Thrown for what another machine has said and cannot mean: a number out of its range, a message
// that ends too early, a round that is impossible by now. Machines of one job run the same build,
// so it says that this one does not, or that something damages what it sends.
#pragma once

#include <stdexcept>
#include <string>

namespace syncopate {

class BadMessage : public std::runtime_error {
 public:
  /// `what` says what is wrong, after "its message": "names rank 9 of 4".
  BadMessage(int machine, const std::string& what) : std::runtime_error(what), machine_(machine) {}
  int machine() const { return machine_; }

 private:
  int machine_;
};

}  // namespace syncopate

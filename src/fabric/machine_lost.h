// Thrown by a fabric that knows by itself that another machine is gone or out of reach: the agent
// tells all ranks which one.
#pragma once

#include <stdexcept>
#include <string>

namespace syncopate::fabric {

class MachineLost : public std::runtime_error {
 public:
  /// `what` goes after the machine's name: "cannot be reached".
  MachineLost(int machine, const std::string& what) : std::runtime_error(what), machine_(machine) {}
  int machine() const { return machine_; }

 private:
  int machine_;
};

}  // namespace syncopate::fabric

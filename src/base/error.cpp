#include "syncopate/error.h"

#include "base/printable.h"

namespace syncopate {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::environment:
      return "environment";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::closed:
      return "closed";
    case ErrorCode::rank_lost:
      return "rank_lost";
    case ErrorCode::machine_lost:
      return "machine_lost";
    case ErrorCode::interrupted:
      return "interrupted";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& what_happened, const std::string& what_to_do)
    : std::runtime_error(base::printable(what_happened) + ". " + base::printable(what_to_do) + "."),
      code_(code),
      what_happened_(base::printable(what_happened)),
      what_to_do_(base::printable(what_to_do)) {}

}  // namespace syncopate

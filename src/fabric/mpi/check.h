// Every call of MPI goes through check(): its code becomes an exception with a sentence.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace syncopate::fabric::mpi {

/// Two lines, as src/fabric/plugin.h says: what happened, and what to do.
[[noreturn]] inline void fail(const std::string& what_happened, const std::string& what_to_do) {
  throw std::runtime_error(what_happened + "\n" + what_to_do);
}

inline void check(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  text.resize(length);
  throw std::runtime_error(std::string(function) +
                           " failed: " + (text.empty() ? "code " + std::to_string(code) : text));
}

}  // namespace syncopate::fabric::mpi

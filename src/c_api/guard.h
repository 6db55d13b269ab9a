// How exceptions become numbers at the border to C, and functions of the caller's that fail become
// exceptions.
#pragma once

#include <exception>
#include <functional>

#include "syncopate.h"

namespace syncopate::c_api {

/// Thrown where a function of the caller's has failed: the caller knows why.
class CallbackFailed : public std::exception {
 public:
  const char* what() const noexcept override { return "a function of the caller's failed"; }
};

inline void expect_success(int returned) {
  if (returned != 0) throw CallbackFailed();
}

/// Keeps what the exception under way says for this thread, and returns its number.
syncopate_status note_exception() noexcept;

/// Throws Error(invalid_argument) for a null `pointer`.
void expect(const void* pointer, const char* name);

template <typename Body>
syncopate_status guarded(const Body& body) noexcept {
  try {
    body();
    return SYNCOPATE_OK;
  } catch (...) {
    return note_exception();
  }
}

}  // namespace syncopate::c_api

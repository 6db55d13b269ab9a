#include "c_api/guard.h"

#include <new>
#include <string>

#include "base/version.h"
#include "syncopate/error.h"
#include "syncopate/interrupt.h"

namespace syncopate::c_api {
namespace {

struct LastError {
  std::string what_happened;
  std::string what_to_do;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

syncopate_status keep(syncopate_status status, const char* what_happened, const char* what_to_do) {
  last_error() = {what_happened, what_to_do};
  return status;
}

}  // namespace

syncopate_status note_exception() noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      return keep(syncopate_status(int(error.code()) + 1), error.what_happened().c_str(),
                  error.what_to_do().c_str());
    } catch (const CallbackFailed& failed) {
      return keep(SYNCOPATE_CALLBACK, failed.what(), "See what it says");
    } catch (const std::bad_alloc&) {
      return keep(SYNCOPATE_OUT_OF_MEMORY, "there is no memory left", "Use less of it");
    } catch (const std::exception& exception) {
      return keep(SYNCOPATE_OTHER, exception.what(), "");
    }
  } catch (...) {
    return SYNCOPATE_OTHER;
  }
}

void expect(const void* pointer, const char* name) {
  if (pointer != nullptr) return;
  throw Error(ErrorCode::invalid_argument, std::string(name) + " is null", "Give an address");
}

}  // namespace syncopate::c_api

using namespace syncopate;

static_assert(int(ErrorCode::invalid_argument) + 1 == SYNCOPATE_INVALID_ARGUMENT);
static_assert(int(ErrorCode::mismatch) + 1 == SYNCOPATE_MISMATCH);
static_assert(int(ErrorCode::timeout) + 1 == SYNCOPATE_TIMEOUT);
static_assert(int(ErrorCode::environment) + 1 == SYNCOPATE_ENVIRONMENT);
static_assert(int(ErrorCode::out_of_memory) + 1 == SYNCOPATE_OUT_OF_MEMORY);
static_assert(int(ErrorCode::closed) + 1 == SYNCOPATE_CLOSED);
static_assert(int(ErrorCode::rank_lost) + 1 == SYNCOPATE_RANK_LOST);
static_assert(int(ErrorCode::machine_lost) + 1 == SYNCOPATE_MACHINE_LOST);
static_assert(int(ErrorCode::interrupted) + 1 == SYNCOPATE_INTERRUPTED);

const char* syncopate_what_happened() { return c_api::last_error().what_happened.c_str(); }
const char* syncopate_what_to_do() { return c_api::last_error().what_to_do.c_str(); }
const char* syncopate_version() { return base::kBuild; }
void syncopate_set_interrupt(int (*go_on)()) { set_interrupt(go_on); }

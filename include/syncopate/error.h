// The one exception type of the library. It carries a code for programs, a sentence on what
// happened and a sentence on what to do about it. docs/errors.md lists every code.
#pragma once

#include <stdexcept>
#include <string>

namespace syncopate {

enum class ErrorCode {
  invalid_argument,  ///< An argument of this call is outside what is allowed; nothing was started.
  mismatch,          ///< Ranks disagree about a collective: its kind, length, type or policies.
  timeout,           ///< A wait reached its deadline; the message names whom it waited for.
  environment,       ///< The launcher's variables or the board they name cannot be used.
  out_of_memory,     ///< The board does not fit into the memory this machine or container allows.
  closed,            ///< The collective was used after finish() or leave(), or in a forked child.
  rank_lost,         ///< A rank that this call needs has died, or this one counts as dead.
  machine_lost,      ///< Another machine, or what speaks for this one, is gone: the job is over.
  interrupted,       ///< The program wanted the wait to end (syncopate/interrupt.h).
};

/// The code as it is written in messages and in docs/errors.md, for example "timeout".
const char* to_string(ErrorCode code);

class Error : public std::runtime_error {
 public:
  /// Control characters and bytes that are no UTF-8 are spelt out (\x1b), and very long texts cut:
  /// an error may quote anything and still be printed as it is.
  Error(ErrorCode code, const std::string& what_happened, const std::string& what_to_do);

  ErrorCode code() const noexcept { return code_; }
  const std::string& what_happened() const noexcept { return what_happened_; }
  const std::string& what_to_do() const noexcept { return what_to_do_; }

 private:
  ErrorCode code_;
  std::string what_happened_;
  std::string what_to_do_;
};

}  // namespace syncopate

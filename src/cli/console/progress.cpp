#include "cli/console/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace syncopate::cli {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  constexpr const char* kToStartAndErase = "\r\033[K";
  fmt::print(stderr, "{}{}", kToStartAndErase, text);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) show("");
  shown_ = false;
}

}  // namespace syncopate::cli

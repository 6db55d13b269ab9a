// Says which schedule was being played if the program is killed by its own fault: a crash must
// be as replayable as a failure.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace syncopate::testing {

class LastWords {
 public:
  explicit LastWords(const char* prefix) {
    // A fiber that has used up its stack has none left for the handler.
    static std::array<std::byte, 64 << 10> stack;
    const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
    sigaltstack(&own, nullptr);
    prefix_ = prefix;
    struct sigaction action {};
    action.sa_handler = &LastWords::speak;
    action.sa_flags = SA_ONSTACK | SA_RESETHAND;
    for (const int signal : kSignals) sigaction(signal, &action, nullptr);
  }
  ~LastWords() {
    for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  void set(std::uint64_t number) { number_ = number; }

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

  static void speak(int signal) {
    char text[24];
    char* at = text + sizeof text;
    *--at = '\n';
    for (std::uint64_t rest = number_; rest > 0; rest /= 10) *--at = char('0' + rest % 10);
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, prefix_, std::strlen(prefix_));
    written = write(STDERR_FILENO, at, text + sizeof text - at);
    raise(signal);
  }

  static inline const char* prefix_ = "";
  static inline volatile std::uint64_t number_ = 0;
};

}  // namespace syncopate::testing

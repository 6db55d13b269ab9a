#include "launch/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace syncopate::launch {

namespace {

std::atomic<int> noted_at = -1;  ///< Where the handler writes.

void note(int signal) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // If the pipe is full there is plenty of news already.
  (void)!::write(noted_at, &byte, 1);
  errno = error;
}

bool ignored(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

SignalScope::SignalScope() : pipe_(make_pipe()) {
  for (const Descriptor* end : {&pipe_.read, &pipe_.write}) {
    ::fcntl(end->number(), F_SETFL, O_NONBLOCK);
  }
  noted_at = pipe_.write.number();
  // With SIGCHLD ignored the kernel would throw away the ranks' exit codes. A broken stdout and a
  // file that may not grow are told by write() itself. And who is in the background may write all
  // the same.
  replace(SIGCHLD, note);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU}) replace(signal, SIG_IGN);
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    if (ignored(signal)) continue;
    replace(signal, note);
    ::sigaddset(&watched, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &watched, &previous_mask_);
}

SignalScope::~SignalScope() {
  restore();
  noted_at = -1;
  // What was not looked at any more is for the code that comes after us.
  while (const auto signal = next()) {
    if (*signal != SIGCHLD) ::raise(*signal);
  }
}

void SignalScope::replace(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  previous_.emplace_back(signal, action);
  ::sigaction(signal, &action, &previous_.back().second);
}

std::optional<int> SignalScope::next() const {
  unsigned char signal = 0;
  if (::read(pipe_.read.number(), &signal, 1) != 1) return std::nullopt;
  return signal;
}

void SignalScope::restore() const {
  for (const auto& [signal, action] : previous_) ::sigaction(signal, &action, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

SignalsBlocked::SignalsBlocked() {
  sigset_t everything;
  ::sigfillset(&everything);
  ::pthread_sigmask(SIG_SETMASK, &everything, &previous_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

}  // namespace syncopate::launch

#include "launch/signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <system_error>

namespace syncopate::launch {

namespace {

void set_disposition(int signal, sighandler_t handler, struct sigaction& previous) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, &previous);
}

bool ignored(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

SignalScope::SignalScope() {
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    // A blocked signal is queued even if it is ignored, so an ignored one must not be watched.
    if (!ignored(signal)) ::sigaddset(&watched, signal);
  }
  descriptor_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_.open()) throw std::system_error(errno, std::generic_category(), "signalfd");
  // With SIGCHLD ignored the kernel would throw away the ranks' exit codes; a broken stdout is
  // told by write() itself.
  set_disposition(SIGCHLD, SIG_DFL, previous_child_);
  set_disposition(SIGPIPE, SIG_IGN, previous_pipe_);
  ::sigprocmask(SIG_BLOCK, &watched, &previous_mask_);
}

SignalScope::~SignalScope() { restore(); }

std::optional<int> SignalScope::next() const {
  signalfd_siginfo info{};
  if (::read(descriptor_.number(), &info, sizeof(info)) != ssize_t(sizeof(info)))
    return std::nullopt;
  return int(info.ssi_signo);
}

void SignalScope::restore() const {
  ::sigaction(SIGCHLD, &previous_child_, nullptr);
  ::sigaction(SIGPIPE, &previous_pipe_, nullptr);
  ::sigprocmask(SIG_SETMASK, &previous_mask_, nullptr);
}

}  // namespace syncopate::launch

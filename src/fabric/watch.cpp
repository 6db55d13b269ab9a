#include "fabric/watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "board/platform.h"
#include "syncopate/error.h"

namespace syncopate::fabric {
namespace {

/// What wakes the thread.
enum Source : std::uint32_t { kFabric, kEnd };

}  // namespace

Watch::Watch(int descriptor, std::function<void()> woken)
    : descriptor_(descriptor),
      woken_(std::move(woken)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      end_(::eventfd(0, EFD_CLOEXEC)) {
  // Not armed: it says nothing so far.
  epoll_event fabric{.events = EPOLLONESHOT, .data = {.u32 = kFabric}};
  epoll_event end{.events = EPOLLIN, .data = {.u32 = kEnd}};
  if (::epoll_ctl(events_.number(), EPOLL_CTL_ADD, descriptor, &fabric) != 0 ||
      ::epoll_ctl(events_.number(), EPOLL_CTL_ADD, end_.number(), &end) != 0) {
    throw Error(ErrorCode::environment,
                std::string("the fabric's descriptor cannot be watched: ") + std::strerror(errno),
                "Check the limit on open files (ulimit -n)");
  }
  // The program's signals are for its own threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  ::eventfd_write(end_.number(), 1);
  thread_.join();
}

void Watch::arm() {
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.u32 = kFabric}};
  ::epoll_ctl(events_.number(), EPOLL_CTL_MOD, descriptor_, &event);
}

void Watch::watch() {
  board::become_servant("syncopate watch");
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(events_.number(), &event, 1, -1) != 1) continue;
    if (event.data.u32 == kEnd) return;
    woken_();
  }
}

}  // namespace syncopate::fabric

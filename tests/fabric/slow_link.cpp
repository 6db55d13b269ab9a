// A link with delay between two network namespaces, where the kernel has no netem:
//
// Usage: slow_link NAMESPACE DEVICE NAMESPACE DEVICE MICROSECONDS MBITS
//
// Makes a TAP device in each and passes frames both ways, in order, each so much later and no more
// of them than the rate allows, until the process that started it ends.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// What a switch may hold; the device holds some more, and then the kernel drops what comes.
constexpr std::size_t kMostFrames = 1000;
constexpr std::size_t kLongestFrame = 65536;

int made(int result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": " + std::strerror(errno));
  return result;
}

int tap(const std::string& space, const std::string& device) {
  const std::string path = "/run/netns/" + space;
  const int where = made(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  made(setns(where, CLONE_NEWNET), path);
  close(where);
  const int file = made(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  device.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  made(ioctl(file, TUNSETIFF, &request), device);
  return file;
}

/// One way of the link.
class Way {
 public:
  Way(int from, int to, nanoseconds delay, double mbits)
      : from_(from), to_(to), delay_(delay), nanoseconds_per_byte_(8e3 / mbits) {}

  pollfd wants() const {
    return {from_, static_cast<short>(frames_.size() < kMostFrames ? POLLIN : 0), 0};
  }
  std::optional<Clock::time_point> due() const {
    return frames_.empty() ? std::nullopt : std::optional(frames_.front().due);
  }
  void pass() {
    while (frames_.size() < kMostFrames) {
      const ssize_t size = read(from_, buffer_.data(), buffer_.size());
      if (size < 0 && errno != EAGAIN) made(-1, "a device is gone");
      if (size <= 0) break;
      const nanoseconds on_the_wire(static_cast<long>(size * nanoseconds_per_byte_));
      free_ = std::max(free_, Clock::now()) + on_the_wire;
      frames_.push_back({free_ + delay_, {buffer_.data(), buffer_.data() + size}});
    }
    for (const auto now = Clock::now(); !frames_.empty() && frames_.front().due <= now;) {
      const auto& bytes = frames_.front().bytes;
      // Where the other end is down the frame is lost, as it would be on a cable.
      [[maybe_unused]] const ssize_t ignored = write(to_, bytes.data(), bytes.size());
      frames_.pop_front();
    }
  }

 private:
  struct Frame {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  const int from_, to_;
  const nanoseconds delay_;
  const double nanoseconds_per_byte_;
  Clock::time_point free_{};  ///< When the last bit so far is on its way.
  std::deque<Frame> frames_;
  std::vector<char> buffer_ = std::vector<char>(kLongestFrame);
};

void link(int one, int other, nanoseconds delay, double mbits) {
  std::array<Way, 2> ways{Way(one, other, delay, mbits), Way(other, one, delay, mbits)};
  for (;;) {
    std::array<pollfd, 2> files{ways[0].wants(), ways[1].wants()};
    std::optional<Clock::time_point> next;
    for (const Way& way : ways) {
      if (const auto due = way.due(); due && (!next || *due < *next)) next = due;
    }
    timespec rest{};
    if (next) {
      const auto left = std::max(nanoseconds(0), nanoseconds(*next - Clock::now())).count();
      rest = {left / 1'000'000'000, left % 1'000'000'000};
    }
    made(ppoll(files.data(), files.size(), next ? &rest : nullptr, nullptr), "ppoll");
    for (Way& way : ways) way.pass();
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count != 7) throw std::runtime_error("wrong arguments");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What ends a job by its process group leaves the link: the hosts need it to end theirs.
  for (const int name : {SIGINT, SIGTERM, SIGHUP}) signal(name, SIG_IGN);
  // A cable does not wait for the hosts' programs to leave it a core, nor for a timer to be late.
  setpriority(PRIO_PROCESS, 0, -20);
  prctl(PR_SET_TIMERSLACK, 1);
  const int one = tap(words[1], words[2]);
  const int other = tap(words[3], words[4]);
  link(one, other, std::chrono::microseconds(std::stol(words[5])), std::stod(words[6]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "slow_link: %s\n", error.what());
  return 1;
}

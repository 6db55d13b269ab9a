#include "launch/output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

namespace syncopate::launch {

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Outlet::Outlet(int descriptor) : descriptor_(descriptor) {
  struct stat status {};
  regular_file_ = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

void Outlet::append(std::string_view text) {
  if (error_ == 0) pending_.append(text);
}

void Outlet::write_some() {
  while (!empty()) {
    // A pipe that is reported writable takes PIPE_BUF bytes at once; more could block, and the
    // descriptor cannot be made non-blocking because others share it.
    const std::size_t left = pending_.size() - written_;
    const std::size_t piece = regular_file_ ? left : std::min<std::size_t>(left, PIPE_BUF);
    const ssize_t taken = ::write(descriptor_, pending_.data() + written_, piece);
    if (taken < 0) {
      if (errno == EINTR || errno == EAGAIN) return;
      error_ = errno;
      discard();
      return;
    }
    written_ += std::size_t(taken);
    if (written_ == pending_.size()) {
      discard();
    } else if (written_ >= kEnough) {
      pending_.erase(0, written_);
      written_ = 0;
    }
    if (!regular_file_) return;
  }
}

void LinePrefixer::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    std::string_view part = bytes.substr(0, end);
    while (line_.size() + part.size() > kLongestLine) {
      const std::size_t room = kLongestLine - line_.size();
      line_.append(part.substr(0, room));
      part.remove_prefix(room);
      emit();
    }
    line_.append(part);
    if (end == std::string_view::npos) return;
    emit();
    bytes.remove_prefix(end + 1);
  }
}

void LinePrefixer::flush() {
  if (!line_.empty()) emit();
}

void LinePrefixer::emit() {
  outlet_.append(prefix_);
  line_.push_back('\n');
  outlet_.append(line_);
  line_.clear();
}

RankStream::RankStream(Descriptor pipe, std::string prefix, Outlet& outlet, std::string* captured)
    : pipe_(std::move(pipe)),
      outlet_(outlet),
      captured_(captured),
      lines_(std::move(prefix), outlet) {
  ::fcntl(pipe_.number(), F_SETFL, O_NONBLOCK);
}

bool RankStream::read_some() {
  if (!pipe_.open()) return false;
  static constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::array<char, kPiece> buffer;  // NOLINT: left uninitialized, read() fills it
  const ssize_t got = ::read(pipe_.number(), buffer.data(), buffer.size());
  if (got < 0) return false;
  if (got == 0) {
    pipe_.close();
    flush();
    return false;
  }
  const std::string_view bytes(buffer.data(), std::size_t(got));
  if (captured_ != nullptr) {
    captured_->append(bytes);
  } else {
    lines_.take(bytes);
  }
  return true;
}

void RankStream::drain() {
  // The largest pipe an ordinary user can have is 1 MiB; a writer that outlives its rank and
  // never stops must not hold us here for longer.
  for (int pieces = 0; pieces < 16 && read_some(); ++pieces) {
  }
}

void RankStream::flush() {
  if (captured_ == nullptr) lines_.flush();
}

}  // namespace syncopate::launch

#include "process/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <sstream>
#include <stdexcept>

namespace syncopate::testing {

namespace {

// Generous: reached only by a test that fails, on the slowest machine and under a sanitizer.
constexpr auto kDeadline = std::chrono::seconds(60);

struct Ends {
  int read;
  int write;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  return {ends[0], ends[1]};
}

void close(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

/// False at the end of the stream.
bool read_into(std::string& text, int descriptor) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), std::size_t(got));
  return got > 0;
}

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return left.count() > 0 ? int(left.count()) : 0;
}

}  // namespace

Program::Program(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const Ends in = make_pipe();
  const Ends out = make_pipe();
  const Ends err = make_pipe();
  process_ = ::fork();
  if (process_ == 0) {
    // A test run in the background of a shell has some of these ignored.
    for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in.read, STDIN_FILENO);
    ::dup2(out.write, STDOUT_FILENO);
    ::dup2(err.write, STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(99);
  }
  ::close(in.read);
  ::close(out.write);
  ::close(err.write);
  input_ = in.write;
  out_pipe_ = out.read;
  err_pipe_ = err.read;
}

Program::~Program() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  close(input_);
  close(out_pipe_);
  close(err_pipe_);
}

void Program::write_input(std::string_view text) const {
  if (::write(input_, text.data(), text.size()) != ssize_t(text.size()))
    throw std::runtime_error("the program does not take its input");
}

void Program::end_input() { close(input_); }

void Program::send(int signal) const { ::kill(process_, signal); }

bool Program::read_more() {
  std::array<pollfd, 2> polled{{{out_pipe_, POLLIN, 0}, {err_pipe_, POLLIN, 0}}};
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  if (out_pipe_ < 0 && err_pipe_ < 0) return false;
  if (::poll(polled.data(), polled.size(), milliseconds_until(deadline)) <= 0) {
    throw std::runtime_error("nothing more was written before the deadline, after\n" + out_ +
                             "\nand on stderr\n" + err_);
  }
  if (polled[0].revents != 0 && !read_into(out_, out_pipe_)) close(out_pipe_);
  if (polled[1].revents != 0 && !read_into(err_, err_pipe_)) close(err_pipe_);
  return true;
}

void Program::wait_for(std::string_view text, int times) {
  while (count(out_, text) + count(err_, text) < times) {
    if (!read_more()) {
      throw std::runtime_error("the program ended without writing '" + std::string(text) +
                               "'; it wrote\n" + out_ + "\nand on stderr\n" + err_);
    }
  }
}

void Program::close_output() { close(out_pipe_); }

int Program::wait() {
  end_input();
  while (read_more()) {
  }
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool Program::ended() const {
  siginfo_t info{};
  ::waitid(P_PID, id_t(process_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == process_;
}

std::vector<std::string> Program::lines(std::string_view prefix) const {
  std::vector<std::string> found;
  std::istringstream text(out_);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(prefix)) found.push_back(line.substr(prefix.size()));
  }
  return found;
}

Watched::Watched(pid_t process) : descriptor_(int(::syscall(SYS_pidfd_open, process, 0))) {}

Watched::~Watched() { close(descriptor_); }

bool Watched::ends() const {
  if (descriptor_ < 0) return true;  // it was gone before we came
  pollfd polled{descriptor_, POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  return ::poll(&polled, 1, milliseconds_until(deadline)) == 1;
}

}  // namespace syncopate::testing

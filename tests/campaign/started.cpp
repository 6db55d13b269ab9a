#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "campaign/job.h"

namespace syncopate::campaign {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMark = "SYNCOPATE_CAMPAIGN_MARK";

std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (text_of(entry.path() / "environ").find(mark) == std::string::npos) continue;
    found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "syncopate-campaign-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Started::Started(const std::vector<std::string>& command, const Variables& variables,
                 const fs::path& output) {
  static int number = 0;
  mark_ =
      std::string(kMark) + "=" + std::to_string(getpid()) + "." + std::to_string(++number) + ".";
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("no process");
  if (process_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  setpgid(0, 0);  // A terminal's Ctrl-C is for the driver, which then ends everything.
  setenv(kMark, mark_.substr(mark_.find('=') + 1).c_str(), 1);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  close(in);
  close(out);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

Started::~Started() {
  if (!ended()) {
    send(SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  for (const pid_t process : offspring()) kill(process, SIGKILL);
}

void Started::send(int signal) const {
  if (!ended_) kill(process_, signal);
}

bool Started::ended() {
  int status = 0;
  if (!ended_ && waitpid(process_, &status, WNOHANG) == process_) {
    ended_ = true;
    code_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  return ended_;
}

std::vector<pid_t> Started::offspring() const {
  std::vector<pid_t> found = marked(mark_);
  std::erase(found, process_);
  return found;
}

}  // namespace syncopate::campaign

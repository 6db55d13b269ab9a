#include "campaign/training_process.h"

#include <csignal>
#include <cstdlib>
#include <thread>

namespace syncopate::campaign {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::vector<std::string> train_command(const std::string& strategy, int ranks, const fs::path& runs,
                                       const std::vector<std::string>& more) {
  std::vector<std::string> words{
      SYNCOPATE_CLI_PATH, "train",   "-w", "hyperplane", "--batch", "4",
      "--rate",           "0.00001", "-s", strategy,     "-n",      std::to_string(ranks),
      "--runs",           runs};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

fs::file_time_type saved_at(const fs::path& run) {
  std::error_code never;
  return fs::last_write_time(run / "checkpoint" / "rank-0.safetensors", never);
}

std::optional<int> rank_of(pid_t process) {
  const std::string environment = '\0' + text_of("/proc/" + std::to_string(process) + "/environ");
  const std::string variable = std::string(1, '\0') + "SYNCOPATE_RANK=";
  const auto at = environment.find(variable);
  if (at == std::string::npos) return std::nullopt;
  return std::atoi(environment.c_str() + at + variable.size());
}

std::vector<pid_t> left_behind(const Started& program) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!program.offspring().empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(2ms);
  }
  return program.offspring();
}

void BriefStop::begin(pid_t process, Clock::duration lasting) {
  kill(process, SIGSTOP);
  process_ = process;
  until_ = Clock::now() + lasting;
}

void BriefStop::end_if_due() {
  if (!on() || Clock::now() < until_) return;
  kill(process_, SIGCONT);
  process_ = -1;
}

}  // namespace syncopate::campaign

#include "campaign/training.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "campaign/training_process.h"

namespace syncopate::campaign {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kDeadline = 90s;
/// Enough for every blow, and for a start from the beginning after each.
constexpr int kMostStarts = 12;
constexpr std::uint64_t kFurther = 80;

/// The number after the last `name` in a file of JSON; -1 if there is none.
double number_in(const std::string& json, const std::string& name) {
  const auto at = json.rfind("\"" + name + "\":");
  return at == std::string::npos ? -1 : std::strtod(json.c_str() + at + name.size() + 3, nullptr);
}

/// The bytes of the tensor `weights` in a safetensors file; empty if it has none.
std::string weights_of(const fs::path& file) {
  constexpr std::size_t kLengthBytes = 8;
  const std::string bytes = text_of(file);
  const std::string name = "\"weights\":{\"data_offsets\":[";
  const auto at = bytes.find(name);
  if (at == std::string::npos) return "";
  std::uint64_t header = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) header = header << 8 | (unsigned char)(bytes[i]);
  char* comma = nullptr;
  const std::uint64_t begin = std::strtoull(bytes.c_str() + at + name.size(), &comma, 10);
  const std::uint64_t end = std::strtoull(comma + 1, nullptr, 10);
  return bytes.substr(kLengthBytes + header + begin, end - begin);
}

class TrainingJob {
 public:
  TrainingJob(const TrainingLife& life, Tally& tally) : life_(life), tally_(tally) {}

  std::string play() {
    std::size_t part = 0;
    for (int starts = 0; problems_.empty(); ++starts) {
      if (starts == kMostStarts) return wrong("it does not come to its end");
      const TrainingLife::Part& now = life_.parts[std::min(part, life_.parts.size() - 1)];
      ++part;
      if (run(now) && problems_.empty()) break;
    }
    if (problems_.empty()) judge_the_end();
    if (problems_.empty() && life_.exact()) compare_with_undisturbed();
    return problems_.empty() ? "" : problems_ + text_of(output());
  }

 private:
  fs::path output() const { return folder_.path() / "output"; }
  fs::path runs() const { return folder_.path() / "runs"; }
  fs::path run_directory() const {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(runs(), none)) {
      if (!fs::is_symlink(entry.path())) return entry.path();
    }
    return {};
  }

  std::string wrong(const std::string& what) { return problems_ += "  " + what + "\n"; }

  std::string until() const { return "samples:" + std::to_string(samples_); }

  std::vector<std::string> first_command(const fs::path& into, int ranks) const {
    return train_command(
        life_.strategy, ranks, into,
        {"--evaluate-every", "0", "--no-metrics", "--until", until(), "--checkpoint-every",
         std::to_string(life_.checkpoint_every), "--pace", std::to_string(life_.pace_us) + "us",
         "--seed", std::to_string(life_.seed % 1000 + 1)});
  }

  /// Starts it, or goes on from its checkpoint; returns whether it has come to its end.
  bool run(const TrainingLife::Part& part) {
    const fs::path directory = run_directory();
    const bool resumes = !directory.empty() && fs::exists(directory / "checkpoint");
    std::vector<std::string> words = first_command(runs(), part.ranks);
    if (resumes) {
      words = {SYNCOPATE_CLI_PATH,         "train",   "--resume", directory, "-n",
               std::to_string(part.ranks), "--until", until()};
      ++tally_.resumed;
    } else if (!directory.empty()) {
      fs::remove_all(runs());  // It was killed before it had saved anything.
    }
    if (life_.survive) words.emplace_back("--survive");
    Started program(words, {{"SYNCOPATE_TIMEOUT", "300"}}, output());
    watch(program, part);
    if (!problems_.empty()) return false;
    judge_leftovers(program);
    return judge_code(program.code(), part, resumes);
  }

  /// Strikes when it is time, and waits for the end.
  void watch(Started& program, const TrainingLife::Part& part) {
    using Blow = TrainingLife::Blow;
    const auto began = Clock::now();
    Clock::time_point aimed = began;
    const fs::file_time_type saved_before = saved_at(run_directory());
    bool counting = !part.from_checkpoint;
    bool struck = part.blow == Blow::none;
    BriefStop stop;
    while (!program.ended()) {
      if (!counting && saved_at(run_directory()) != saved_before) {
        counting = true;
        aimed = Clock::now();
      }
      if (counting && !struck && Clock::now() >= aimed + std::chrono::milliseconds(part.after_ms)) {
        struck = true;
        strike(program, part, stop);
      }
      stop.end_if_due();
      if (Clock::now() - began > kDeadline) {
        wrong("it hangs");
        return;
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  void strike(Started& program, const TrainingLife::Part& part, BriefStop& stop) {
    using Blow = TrainingLife::Blow;
    if (part.blow == Blow::launcher_killed || part.blow == Blow::interrupted ||
        part.blow == Blow::terminated) {
      ++tally_.launcher_kills;
      return program.send(part.blow == Blow::launcher_killed ? SIGKILL
                          : part.blow == Blow::interrupted   ? SIGINT
                                                             : SIGTERM);
    }
    for (const pid_t process : program.offspring()) {
      if (rank_of(process) != part.victim % part.ranks) continue;
      if (part.blow == Blow::rank_stopped) {
        stop.begin(process, 300ms);
        ++tally_.stops;
      } else {
        kill(process, SIGKILL);
        ++tally_.kills;
      }
      return;
    }
  }

  void judge_leftovers(const Started& program) {
    for (const pid_t process : left_behind(program)) {
      wrong("process " + std::to_string(process) + " is left behind");
    }
  }

  /// Whether the run is complete.
  bool judge_code(int code, const TrainingLife::Part& part, bool resumed) {
    using Blow = TrainingLife::Blow;
    if (code == 0) return true;
    if (resumed && code == 2 && text_of(output()).find("is past the end") != std::string::npos) {
      // Killed after its last checkpoint, it has nothing left to do: it is given something.
      samples_ += kFurther;
      fs::resize_file(output(), 0);
      return false;
    }
    const bool right =
        (part.blow == Blow::rank_killed && code == 128 + SIGKILL) ||
        (part.blow == Blow::launcher_killed && code == -SIGKILL) ||
        // Before it listens to signals it is ended by them.
        (part.blow == Blow::interrupted && (code == 128 + SIGINT || code == -SIGINT)) ||
        (part.blow == Blow::terminated && (code == 128 + SIGTERM || code == -SIGTERM));
    if (!right) wrong("it ended with " + std::to_string(code) + ", where " + to_string(part.blow));
    return false;
  }

  void judge_the_end() {
    const fs::path directory = run_directory();
    const std::string result = text_of(directory / "result.json");
    if (number_in(result, "samples") < double(samples_)) wrong("it ended early: " + result);
    for (const auto& entry : fs::directory_iterator(directory)) {
      const std::string extension = entry.path().extension();
      if (extension == ".new" || extension == ".old")
        wrong("left behind: " + entry.path().string());
    }
    std::string first;
    int files = 0;
    for (const auto& entry : fs::directory_iterator(directory / "checkpoint")) {
      if (entry.path().extension() != ".safetensors") continue;  // The list of the parts.
      const std::string weights = weights_of(entry.path());
      if (weights.empty()) wrong("no weights in " + entry.path().string());
      if (files++ == 0) first = weights;
      if (life_.holds_one_model() && weights != first) wrong("ranks have saved different models");
    }
    if (files == 0) wrong("no checkpoint at the end");
  }

  void compare_with_undisturbed() {
    const fs::path calm = folder_.path() / "calm";
    Started program(first_command(calm, life_.parts[0].ranks), {}, output());
    watch(program, {});
    if (program.code() != 0) wrong("undisturbed it ended with " + std::to_string(program.code()));
    if (!problems_.empty()) return;
    if (text_of(calm / "latest" / "model.safetensors") !=
        text_of(run_directory() / "model.safetensors")) {
      wrong("the model is not that of the run that nothing disturbed");
    }
  }

  const TrainingLife& life_;
  Tally& tally_;
  Folder folder_;
  std::uint64_t samples_ = life_.samples;
  std::string problems_;
};

}  // namespace

std::string play_training(const TrainingLife& life, Tally& tally) {
  ++tally.lives;
  ++tally.trainings;
  return TrainingJob(life, tally).play();
}

}  // namespace syncopate::campaign

#include "campaign/soak.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "campaign/job.h"
#include "campaign/samples.h"
#include "campaign/training_process.h"
#include "campaign/verdict.h"

namespace syncopate::campaign {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kLongestCycle = 3600;
/// Of a cycle the job of collectives has this share, the training the rest.
constexpr double kCollectivesShare = 0.65;
constexpr auto kStandstill = 60s;
constexpr int kFewestRanks = 3;
constexpr const char* kStrategies[] = {"eager-solo", "sync", "wagma:2:10", "eager-majority"};
constexpr Bounds kOfCollectives{};
/// libtorch keeps memory of its own in pools.
constexpr Bounds kOfTraining{.share = 0.1, .kb = 8192, .descriptors = 2, .threads = 2};

/// The last round in a file of metrics, which may be large.
std::uint64_t last_round(const fs::path& metrics) {
  constexpr std::streamoff kTail = 4096;
  std::ifstream file(metrics, std::ios::binary | std::ios::ate);
  if (!file) return 0;
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  std::ostringstream text;
  text << file.rdbuf();
  const std::string tail = text.str();
  const auto at = tail.rfind("\"round\":");
  return at == std::string::npos ? 0 : std::strtoull(tail.c_str() + at + 8, nullptr, 10);
}

/// Whether a job goes on: the number of its rounds or events grows.
class Progress {
 public:
  void note(std::uint64_t count) {
    if (count != count_) moved_ = Clock::now();
    count_ = count;
  }
  std::uint64_t count() const { return count_; }
  bool stands_still() const { return Clock::now() - moved_ > kStandstill; }

 private:
  std::uint64_t count_ = 0;
  Clock::time_point moved_ = Clock::now();
};

class Soak {
 public:
  explicit Soak(const SoakSettings& settings)
      : settings_(settings), samples_(settings.samples), random_(settings.seed) {}

  int run() {
    const double load = load_average();
    std::printf("SYNCOPATE_SEED=%llu plays this soak again\n",
                static_cast<unsigned long long>(settings_.seed));
    try {
      while (problems_.empty() && left() > 1) {
        ++cycle_;
        const double cycle = std::min(left(), kLongestCycle);
        collectives(cycle * kCollectivesShare);
        if (problems_.empty()) training(std::min(left(), cycle * (1 - kCollectivesShare)));
      }
    } catch (const std::exception& error) {
      problems_ += std::string("  ") + error.what() + "\n";
    }
    for (const std::string& job : jobs_) {
      problems_ +=
          samples_.verdict(job, job.starts_with("training") ? kOfTraining : kOfCollectives);
    }
    write_verdict({.settings = settings_,
                   .problems = problems_,
                   .done = tally_.text(),
                   .seconds = elapsed(),
                   .load_before = load,
                   .jobs = jobs_},
                  samples_);
    std::printf("%s%s: %s in %.0f s, %llu samples in %s\n", problems_.c_str(),
                problems_.empty() ? "passed" : "FAILED", tally_.text().c_str(), elapsed(),
                static_cast<unsigned long long>(samples_.lines()), settings_.samples.c_str());
    return problems_.empty() ? 0 : 1;
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }
  double left() const { return settings_.seconds - elapsed(); }
  double period() const { return std::clamp(settings_.seconds / 600, 0.5, 10.0); }
  bool due() {
    if (elapsed() < next_sample_) return false;
    next_sample_ = elapsed() + period();
    return true;
  }
  std::string begin_job(const std::string& name) {
    jobs_.push_back(name + " " + std::to_string(cycle_));
    std::printf("%6.0f s: %s\n", elapsed(), jobs_.back().c_str());
    std::fflush(stdout);
    return jobs_.back();
  }
  /// Now and then a rank stands still for a while.
  bool time_to_stop() {
    if (elapsed() < next_stop_) return false;
    next_stop_ = elapsed() + random_.between(500, 6000) / 1000.0;
    return true;
  }

  void collectives(double seconds) {
    const std::string name = begin_job("collectives");
    const double begin = elapsed();
    Job job(Life::soak(random_.next()));
    double next_kill = begin + seconds / 3;
    Progress progress;
    job.meanwhile = [&](Job& now) {
      if (elapsed() > begin + seconds) now.book().enough = true;
      if (time_to_stop()) {
        now.strike({.rank = random_.below(now.life().ranks),
                    .signal = SIGSTOP,
                    .stopped_ms = random_.between(1, 400)},
                   tally_);
      }
      int living = 0;
      std::uint64_t sum = 0;
      for (int rank = 0; rank < now.life().ranks; ++rank) {
        living += now.alive(rank) ? 1 : 0;
        sum += now.book().ranks[rank].events;
      }
      if (elapsed() > next_kill && living > kFewestRanks) {
        now.strike({.rank = random_.below(now.life().ranks), .signal = SIGKILL}, tally_);
        next_kill += seconds / 3;
      }
      progress.note(sum);
      if (progress.stands_still()) {
        throw std::runtime_error("nothing happens any more:\n" +
                                 who_does_what(now.life().ranks, now.book()));
      }
      if (!due()) return;
      for (int rank = 0; rank < now.life().ranks; ++rank) {
        const RankBook& one = now.book().ranks[rank];
        if (now.alive(rank)) {
          samples_.take(elapsed(), name, "rank " + std::to_string(rank), one.process,
                        one.all_rounds);
        }
      }
      samples_.take(elapsed(), name, "launcher", now.launcher().process(), 0);
    };
    problems_ += job.play(tally_);
  }

  /// A training with checkpoints whose launcher is killed halfway, and that goes on from there.
  void training(double seconds) {
    if (access(SYNCOPATE_TRAIN_PATH, X_OK) != 0 || seconds < 5) return;
    const std::string name = begin_job("training");
    const double end = elapsed() + seconds;
    Folder folder;
    ++tally_.trainings;
    const std::string strategy = kStrategies[cycle_ % std::size(kStrategies)];
    std::vector<std::string> words =
        train_command(strategy, 4, folder.path() / "runs",
                      {"--until", "seconds:" + std::to_string(seconds * 10), "--checkpoint-every",
                       "400", "--evaluate-every", "4000", "--pace", "500us"});
    if (!train(name, "first part", words, elapsed() + seconds / 2, SIGKILL, folder)) return;
    ++tally_.resumed;
    const fs::path run = fs::read_symlink(folder.path() / "runs" / "latest");
    words = {SYNCOPATE_CLI_PATH, "train", "--resume", folder.path() / "runs" / run};
    train(name, "second part", words, end, SIGINT, folder);
  }

  /// Runs it until `end`, and until it has saved something, then ends it with `signal`.
  bool train(const std::string& name, const std::string& part,
             const std::vector<std::string>& words, double end, int signal, const Folder& folder) {
    const fs::path output = folder.path() / "output";
    const fs::path latest = folder.path() / "runs" / "latest";
    const fs::file_time_type saved_before = saved_at(latest);
    Started program(words, {}, output);
    bool told = false;
    Progress progress;
    while (!program.ended()) {
      std::this_thread::sleep_for(20ms);
      stop_.end_if_due();
      if (elapsed() > end && !told && saved_at(latest) != saved_before) {
        told = true;
        program.send(signal);
        ++tally_.launcher_kills;
      }
      if (told || !due()) continue;
      progress.note(last_round(latest / "metrics.jsonl"));
      if (progress.stands_still()) {
        problems_ += "  the training stands still\n" + text_of(output);
        return false;
      }
      sample(name, part, program, progress.count());
    }
    const int right = signal == SIGKILL ? -SIGKILL : 128 + signal;
    if (program.code() != right) {
      problems_ +=
          "  the training ended with " + std::to_string(program.code()) + "\n" + text_of(output);
    }
    if (!left_behind(program).empty()) problems_ += "  the training left processes behind\n";
    return problems_.empty();
  }

  /// Of each rank of a training, one of which may be stopped for a while.
  void sample(const std::string& name, const std::string& part, const Started& program,
              std::uint64_t rounds) {
    for (const pid_t process : program.offspring()) {
      const auto rank = rank_of(process);
      if (!rank) continue;
      samples_.take(elapsed(), name, part + " rank " + std::to_string(*rank), process, rounds);
      if (stop_.on() || !time_to_stop()) continue;
      stop_.begin(process, 200ms);
      ++tally_.stops;
    }
  }

  const SoakSettings& settings_;
  BriefStop stop_;
  Samples samples_;
  Random random_;
  Tally tally_;
  Clock::time_point began_ = Clock::now();
  double next_sample_ = 0;
  double next_stop_ = 2;
  int cycle_ = 0;
  std::vector<std::string> jobs_;
  std::string problems_;
};

}  // namespace

int soak(const SoakSettings& settings) { return Soak(settings).run(); }

}  // namespace syncopate::campaign

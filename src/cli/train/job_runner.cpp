#include "cli/train/job_runner.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "base/printable.h"
#include "board/launcher_board.h"
#include "board/platform.h"
#include "cli/console/arguments.h"
#include "cli/console/machine.h"
#include "cli/console/program.h"
#include "launch/launcher.h"
#include "syncopate/error.h"
#include "train/checkpoint.h"

namespace syncopate::cli {
namespace {

namespace fs = std::filesystem;

/// File systems of several machines may keep for some seconds that there is no such file.
constexpr auto kUntilSeenEverywhere = std::chrono::seconds(10);
constexpr auto kLookEvery = std::chrono::milliseconds(50);

bool is_broken = false;

enum Failure : std::size_t { kUsage, kOther, kFailures };

Failure kind_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const UsageError&) {
    return kUsage;
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument ? kUsage : kOther;
  } catch (...) {
    return kOther;
  }
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The same for processes of one host that run on the same cores, and for no others.
double name_of_cores() {
  std::string text(HOST_NAME_MAX + 1, '\0');
  ::gethostname(text.data(), text.size() - 1);
  text += text_of("/proc/sys/kernel/random/boot_id");  // Hosts may all have one name.
  for (const std::uint64_t word : board::make_thread_platform()->cores().mask) {
    text.append(" ").append(std::to_string(word));
  }
  constexpr int kMoreThanADoubleHolds = 12;
  return double(std::hash<std::string>()(text) >> kMoreThanADoubleHolds);
}

/// What the first rank has just written there must be what this rank sees.
void await_run(const fs::path& directory, const train::Config& config) {
  const auto deadline = std::chrono::steady_clock::now() + kUntilSeenEverywhere;
  while (text_of(directory / "config.json") != train::config_text(config)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error(ErrorCode::environment,
                  fmt::format("{}, which rank 0 has made, is not there on this machine",
                              directory.string()),
                  "All ranks write into one directory: choose a place that all machines share "
                  "(--runs)");
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

/// Throws on what is being handled. To a lost machine there is one answer, however a rank came to
/// know of it, and to a rank that does not come.
[[noreturn]] void throw_with_advice(const std::string& how_to_go_on) {
  try {
    throw;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::machine_lost) {
      throw Error(error.code(), error.what_happened(), how_to_go_on);
    }
    if (error.code() != ErrorCode::timeout) throw;
    throw Error(error.code(), error.what_happened(),
                "Look whether it is stopped or its machine too busy, or allow more time "
                "(SYNCOPATE_TIMEOUT, in seconds). " +
                    how_to_go_on);
  }
}

/// Tells this process after so many seconds to end.
class Alarm {
 public:
  explicit Alarm(std::optional<double> after) { set(after.value_or(0)); }
  ~Alarm() { set(0); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  static void set(double seconds) {
    itimerval timer{};
    timer.it_value.tv_sec = std::time_t(seconds);
    timer.it_value.tv_usec = std::lround((seconds - std::floor(seconds)) * 1e6) % 1'000'000;
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

}  // namespace

JobRunner::JobRunner() {
  // A rank of `syncopate run` is told of no launcher, and starts ranks of its own.
  if (std::getenv(board::kRankVariable) == nullptr) launcher_ = fabric::launcher_from_environment();
  if (!launcher_) {
    cores_ = usable_cores();
    return;
  }
  world_ = World::from_environment();
  // MPICH's mpirun tells of the death of a rank by it, if it does not end the others.
  std::signal(SIGUSR1, SIG_IGN);
  failures_.emplace(*world_, kFailures);
  world_->barrier();  // Its cores are known when all ranks are there.
  count_cores();
}

void JobRunner::count_cores() {
  struct Machine {
    double pool;  ///< What tells its cores from those of others.
    double ranks;
    double cores;
  };
  constexpr std::size_t kNumbers = sizeof(Machine) / sizeof(double);
  std::vector<Machine> machines(std::size_t(world_->size()));
  Allreduce<double> gather(*world_, machines.size() * kNumbers);
  std::fill_n(gather.slot(), gather.size(), 0.0);
  if (world_->local_rank() == 0) {
    const Machine mine{name_of_cores(), double(world_->local_size()), double(world_->cores())};
    std::memcpy(gather.slot() + std::size_t(world_->rank()) * kNumbers, &mine, sizeof mine);
  }
  const auto rounds = gather.exchange();
  std::memcpy(machines.data(), rounds.front().sum().data(), machines.size() * sizeof(Machine));
  // Machines that are made of one host (SYNCOPATE_SPLIT) share its cores.
  std::map<double, Machine> pools;
  for (const Machine& machine : machines) {
    if (machine.ranks == 0) continue;  // Only the first rank of each tells.
    Machine& pool = pools[machine.pool];
    pool.ranks += machine.ranks;
    pool.cores = std::max(pool.cores, machine.cores);
  }
  for (const auto& [name, pool] : pools) {
    cores_ += int(pool.cores);
    crowded_ = crowded_ || pool.ranks > pool.cores;
  }
}

bool JobRunner::fell_apart() { return is_broken; }

void JobRunner::each(const std::function<void()>& action) {
  if (!world_) return action();
  std::exception_ptr failure;
  try {
    action();
  } catch (...) {
    failure = std::current_exception();
  }
  float* slot = failures_->slot();
  std::fill_n(slot, kFailures, 0.0F);
  if (failure) slot[kind_of(failure)] = 1;
  const auto rounds = failures_->exchange();
  if (failure) std::rethrow_exception(failure);
  const auto sum = rounds.front().sum();
  if (sum[kUsage] > 0) throw Silence{kWrongUse};
  // Who is not here has said why, or all know.
  RankSet known = rounds.front().receipt().contributors;
  for (const int rank : lost_.list()) known.insert(rank);
  const bool complete = known.size() == world_->size();
  if (sum[kOther] > 0 || !complete) throw Silence{kFailed};
}

std::string JobRunner::from_first(std::string text) {
  if (!world_) return text;
  std::uint64_t size = text.size();
  world_->broadcast(std::span(&size, 1), 0);
  text.resize(size);
  world_->broadcast(std::span(text), 0);
  return text;
}

void JobRunner::first(const std::function<void()>& action) {
  each([&] {
    if (speaks()) action();
  });
}

train::Config JobRunner::decide(const std::function<train::Config()>& decision) {
  if (!world_) return decision();
  train::Config config;
  first([&] { config = decision(); });
  return train::parse_config(from_first(train::config_text(config)));
}

train::Position JobRunner::check(const train::Config& config,
                                 const std::optional<fs::path>& resumed) {
  train::Position position;
  each([&] {
    if (speaks() && resumed) {
      lock_.emplace(*resumed);
      position = train::check_resumed(*resumed, config);
    } else if (!world_ || world_->local_rank() == 0) {
      train::check(config);
    }
  });
  return position;
}

train::Finished JobRunner::run(const train::Config& config, const train::JobOptions& options) {
  std::string directory;
  first([&] {
    const train::NewRun made = train::make_run(config, options.runs);
    if (!made.warning.empty()) fmt::print(stderr, "syncopate: {}\n", base::printable(made.warning));
    directory = made.directory.string();
    lock_.emplace(directory);
  });
  return train_here(directory, config, options, false);
}

train::Finished JobRunner::resume(const fs::path& directory, const train::Config& config,
                                  const train::JobOptions& options) {
  first([&] { train::reopen_run(directory, config); });
  return train_here(directory.string(), config, options, true);
}

std::string JobRunner::go_on(const fs::path& directory) const {
  return fmt::format("go on {}with: syncopate train --resume {}",
                     launcher_ ? fmt::format("under {} ", to_string(launcher_->kind)) : "",
                     directory.string());
}

train::Finished JobRunner::train_here(const std::string& shown, const train::Config& config,
                                      const train::JobOptions& options, bool resume) {
  if (!world_) return train::start_ranks(shown, config, options, resume);
  // Relative to where the first rank is; the others may have been started elsewhere.
  const fs::path directory = from_first(speaks() ? fs::absolute(shown).string() : "");
  each([&] { await_run(directory, config); });
  bool trains = false;
  try {
    const auto began = [&] {
      each([] {});  // A rank that could not make itself ready is not here.
      trains = true;
    };
    const Alarm alarm(options.timeout_seconds);
    const train::RankEnded ended = train::train_as_rank(
        *world_, config, directory,
        {.resume = resume, .survive = options.survive, .label = options.label, .ready = began});
    train::Finished finished{.directory = shown, .result = ended.result};
    if (ended.signal != 0) {
      finished.exit_code =
          ended.signal == SIGALRM ? launch::kTimeoutCode : launch::kSignalCode + ended.signal;
    } else if (!options.survive && !ended.result.dead.empty()) {
      finished.exit_code = kFailed;
    }
    is_broken = !ended.result.dead.empty();
    lost_ = world_->dead();
    for (const int rank : ended.result.dead) lost_.insert(rank);
    return finished;
  } catch (...) {
    if (trains) {
      is_broken = true;
      new World(*world_);  // Leaving it in good order could take until all others have left.
    }
    throw_with_advice(train::has_checkpoint(directory)
                          ? fmt::format("The last checkpoint is whole: {} (fewer ranks will do)",
                                        go_on(directory))
                          : "Start the job again: there is no checkpoint to go on from");
  }
}

}  // namespace syncopate::cli

#include "launch/job.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/printable.h"
#include "base/text.h"
#include "syncopate/rank_set.h"

namespace syncopate::launch {

namespace {

// Long enough for a `tee` in the background to write its last lines, too short to annoy.
constexpr auto kLeftoverPatience = std::chrono::milliseconds(500);

std::chrono::nanoseconds from_seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

LaunchResult Job::run() {
  if (options_.timeout_seconds)
    deadlines_.job = Clock::now() + from_seconds(*options_.timeout_seconds);
  start_ranks();
  if (running_ == 0) begin_leftovers();
  while (phase_ != Phase::done) {
    wait_for_events();
    handle_deadline();
  }

  LaunchResult result;
  bool success = false;
  for (auto& rank : ranks_) {
    success = success || rank.outcome.succeeded();
    result.ranks.push_back(std::move(rank.outcome));
  }
  result.exit_code = verdict_.code.value_or(success ? 0 : verdict_.first_failure.value_or(0));
  return result;
}

void Job::wait_for_events() {
  // One that is below 0 is passed over.
  std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0},
                             {abandoned_ ? -1 : lifeline_, POLLIN, 0}};
  std::vector<RankStream*> streams;
  for (auto& rank : ranks_) {
    for (RankStream* stream : {rank.out.get(), rank.err.get()}) {
      if (stream == nullptr || !stream->wants_to_read()) continue;
      streams.push_back(stream);
      polled.push_back({stream->descriptor(), POLLIN, 0});
    }
  }
  std::vector<Outlet*> outlets;
  for (Outlet* outlet : {&out_, &err_}) {
    if (outlet->empty()) continue;
    outlets.push_back(outlet);
    polled.push_back({outlet->descriptor(), POLLOUT, 0});
  }

  int timeout = -1;
  if (const auto deadline = next_deadline()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    // Longer waits than a day are cut: the number must fit, and waking once a day costs nothing.
    timeout = int(std::clamp<std::int64_t>(left.count(), 0, 86'400'000));
  }
  if (::poll(polled.data(), polled.size(), timeout) <= 0) return;

  if (polled[1].revents != 0) abandon();
  auto event = polled.begin() + 2;
  for (RankStream* stream : streams) {
    if ((event++)->revents != 0) stream->read_some();
  }
  for (Outlet* outlet : outlets) {
    if ((event++)->revents != 0) outlet->write_some();
  }
  if (out_.error() != 0 && phase_ == Phase::running) {
    if (out_.error() != EPIPE)
      say(fmt::format("the output cannot be written: {}", std::strerror(out_.error())));
    conclude(out_.error() == EPIPE ? kSignalCode + SIGPIPE : 1);
    end_ranks(SIGTERM);
  }
  bool signalled = false;
  while (const auto signal = signals_.next()) {
    signalled = true;
    if (*signal != SIGCHLD) handle(*signal);
  }
  // After any of them: of many that came at once some may have been dropped.
  if (signalled) reap();
  if (phase_ == Phase::flushing && out_.empty() && err_.empty()) phase_ = Phase::done;
}

void Job::handle(int signal) {
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    send(signal);
    return;
  }
  conclude(kSignalCode + signal);
  switch (phase_) {
    case Phase::running:
      end_ranks(signal);
      break;
    case Phase::ending:
      if (signal == SIGINT) {
        kill_ranks();
      } else {
        send(signal);
      }
      break;
    case Phase::leftovers:
      deadlines_.phase = Clock::now();
      break;
    case Phase::flushing:
      out_.discard();
      err_.discard();
      break;
    case Phase::killing:
    case Phase::sweeping:
    case Phase::done:
      break;
  }
}

/// The process that wanted the result was killed: what it started has to end, and no other process
/// will see to that.
void Job::abandon() {
  abandoned_ = true;
  conclude(kSignalCode + SIGKILL);
  if (phase_ < Phase::killing) {
    kill_ranks();
  } else if (phase_ == Phase::leftovers) {
    deadlines_.phase = Clock::now();
  } else if (phase_ == Phase::flushing) {
    phase_ = Phase::done;
  }
}

void Job::reap() {
  int status = 0;
  for (pid_t process = 0; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = rank_of_.find(process);
    if (found == rank_of_.end()) continue;
    const int number = found->second;
    rank_of_.erase(found);
    rank_ended(ranks_[std::size_t(number)], number, status);
  }
  if (phase_ == Phase::leftovers || phase_ == Phase::sweeping) {
    look_for_leftovers();
  } else if (running_ == 0 && phase_ < Phase::leftovers) {
    begin_leftovers();
  }
}

void Job::rank_ended(Rank& rank, int number, int status) {
  rank.process = 0;
  --running_;
  board_.gone(number);
  if (WIFSIGNALED(status)) {
    rank.outcome.signal = WTERMSIG(status);
  } else {
    rank.outcome.exit_code = WEXITSTATUS(status);
  }
  if (rank.outcome.succeeded()) return;
  if (!verdict_.first_failure) verdict_.first_failure = rank.outcome.code();
  if (phase_ != Phase::running) return;

  // Its last words come before ours.
  for (RankStream* stream : {rank.out.get(), rank.err.get()}) {
    if (stream == nullptr) continue;
    stream->drain();
    stream->flush();
  }
  const std::string what = fmt::format("rank {} {}", number, rank.outcome.description());
  if (running_ == 0) {
    say(what);
    if (!options_.survive) conclude(rank.outcome.code());
  } else if (options_.survive) {
    say(fmt::format("{}; {} of {} ranks go on", what, running_, options_.ranks));
  } else {
    say(fmt::format("{}; the others are ended", what));
    conclude(rank.outcome.code());
    end_ranks(SIGTERM);
  }
}

std::optional<Job::Clock::time_point> Job::next_deadline() const {
  const bool limited = phase_ == Phase::running || phase_ == Phase::flushing;
  return limited ? deadlines_.job : deadlines_.phase;
}

void Job::handle_deadline() {
  const auto deadline = next_deadline();
  if (!deadline || Clock::now() < *deadline) return;
  switch (phase_) {
    case Phase::running:
      say(fmt::format("the job did not end within {:g} s; still running: {}",
                      *options_.timeout_seconds, running_ranks()));
      conclude(kTimeoutCode);
      end_ranks(SIGTERM);
      break;
    case Phase::ending:
      say(fmt::format("{} did not end within {:g} s and will be killed", running_ranks(),
                      options_.kill_after_seconds));
      kill_ranks();
      break;
    case Phase::killing:
      say(fmt::format("{} cannot be killed; the kernel does not let go", running_ranks()));
      begin_flushing();
      break;
    case Phase::leftovers:
      phase_ = Phase::sweeping;
      deadlines_.phase = Clock::now() + kKillPatience;
      look_for_leftovers();
      break;
    case Phase::sweeping:
      say("processes that the ranks had started cannot be killed; the kernel does not let go");
      begin_flushing();
      break;
    case Phase::flushing:
      conclude(kTimeoutCode);
      phase_ = Phase::done;
      break;
    case Phase::done:
      break;
  }
}

void Job::end_ranks(int signal) {
  phase_ = Phase::ending;
  deadlines_.phase = Clock::now() + from_seconds(options_.kill_after_seconds);
  send(signal);
  // A stopped rank could not act on the signal.
  send(SIGCONT);
}

void Job::kill_ranks() {
  phase_ = Phase::killing;
  deadlines_.phase = Clock::now() + kKillPatience;
  send(SIGKILL);
}

void Job::begin_leftovers() {
  phase_ = Phase::leftovers;
  deadlines_.phase = Clock::now();
  if (!abandoned_) deadlines_.phase += kLeftoverPatience;
  look_for_leftovers();
}

void Job::look_for_leftovers() {
  // As this process is the reaper of all below it, whatever lost its parent is a child of ours.
  bool any = false;
  for (const pid_t child : children()) {
    any = true;
    if (phase_ == Phase::sweeping) ::kill(child, SIGKILL);
  }
  if (!any) begin_flushing();
}

void Job::begin_flushing() {
  phase_ = Phase::flushing;
  for (auto& rank : ranks_) {
    for (RankStream* stream : {rank.out.get(), rank.err.get()}) {
      if (stream == nullptr) continue;
      stream->drain();
      stream->flush();
    }
    rank.out.reset();
    rank.err.reset();
  }
  if (abandoned_ || (out_.empty() && err_.empty())) phase_ = Phase::done;
}

void Job::send(int signal) const {
  for (const auto& rank : ranks_) {
    if (rank.process > 0) ::kill(-rank.process, signal);
  }
}

void Job::say(const std::string& sentence) {
  err_.append("syncopate: " + base::printable(sentence) + "\n");
}

void Job::conclude(int exit_code) {
  if (!verdict_.code) verdict_.code = exit_code;
}

std::string Job::running_ranks() const {
  RankSet running(options_.ranks);
  for (int number = 0; number < options_.ranks; ++number) {
    if (ranks_[std::size_t(number)].process > 0) running.insert(number);
  }
  return base::names_of(running);
}

}  // namespace syncopate::launch

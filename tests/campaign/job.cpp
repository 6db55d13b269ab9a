#include "campaign/job.h"

#include <signal.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace syncopate::campaign {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr auto kLook = 300us;
/// Far above what any life takes, and below the timeouts of its ranks.
constexpr auto kDeadline = 60s;
constexpr const char* kNoTimeout = "300";
/// How long the kernel may take to end what was killed.
constexpr auto kAftermath = 10s;
constexpr std::uint32_t kEndless = 0x100;

/// What the driver knows of the program itself: ranks are started with it.
fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

std::uint32_t bit(int rank) { return 1U << rank; }

bool runs(pid_t process) {
  const std::string stat = text_of("/proc/" + std::to_string(process) + "/stat");
  const auto name_ends = stat.rfind(')');
  return name_ends != std::string::npos && stat.size() > name_ends + 2 &&
         stat[name_ends + 2] != 'Z';
}

}  // namespace

std::string Tally::text() const {
  return std::to_string(lives) + " lives, " + std::to_string(kills) + " ranks and " +
         std::to_string(launcher_kills) + " launchers killed, " + std::to_string(stops) +
         " stops, " + std::to_string(timeouts) + " timeouts, " + std::to_string(losses) +
         " told of a lost machine, " + std::to_string(deposits) + " deposits, " +
         std::to_string(rounds) + " rounds" +
         (trainings == 0 ? ""
                         : ", " + std::to_string(trainings) + " trainings, resumed " +
                               std::to_string(resumed) + " times");
}

Job::Job(const Life& life)
    : life_(life),
      launcher_(
          (book_->seed = life.seed,
           book_->kind = std::uint32_t(life.launcher) | (life.endless ? kEndless : 0), command()),
          variables(), folder_.path() / "output") {
  for (const Blow& blow : life_.blows) due_.push_back({.blow = blow});
}

std::vector<std::string> Job::command() const {
  const std::string ranks = std::to_string(life_.ranks);
  std::vector<std::string> words;
  switch (life_.launcher) {
    case Launcher::run:
      words = {SYNCOPATE_CLI_PATH, "run", "-n", ranks};
      if (life_.survive) words.emplace_back("--survive");
      words.insert(words.end(), {"--kill-after", "2", "--"});
      break;
    case Launcher::openmpi:
      words = {SYNCOPATE_OPENMPI_RUN, "--oversubscribe", "-n", ranks};
      if (life_.deadly() && life_.survive) words.emplace_back("--enable-recovery");
      break;
    case Launcher::mpich:
      words = {SYNCOPATE_MPICH_RUN, "-n", ranks};
      break;
  }
  words.insert(words.end(), {own_program(), "--rank", book_.path()});
  return words;
}

Started::Variables Job::variables() const {
  Started::Variables result{{"SYNCOPATE_TIMEOUT", life_.timeout_ms > 0
                                                      ? std::to_string(life_.timeout_ms / 1000.0)
                                                      : kNoTimeout}};
  if (life_.launcher == Launcher::run) {
    result.emplace_back("TMPDIR", folder_.path());
    return result;
  }
  if (!life_.split.empty()) result.emplace_back("SYNCOPATE_SPLIT", life_.split);
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
    result.emplace_back(name, "1");
  }
  result.emplace_back("OMPI_MCA_hwloc_base_binding_policy", "none");
  return result;
}

bool Job::alive(int rank) {
  const RankBook& mine = book_->ranks[rank];
  return mine.process != 0 && mine.state == RankBook::State::alive && runs(mine.process);
}

void Job::strike(const Blow& blow, Tally& tally) {
  if (blow.rank < 0) {
    launcher_.send(blow.signal);
    launcher_struck_ = true;
    ++tally.launcher_kills;
    return;
  }
  if (!alive(blow.rank)) return;
  const pid_t process = book_->ranks[blow.rank].process;
  kill(process, blow.signal);
  if (blow.signal == SIGSTOP) {
    ++tally.stops;
    stopped_.emplace_back(Clock::now() + std::chrono::milliseconds(blow.stopped_ms), process);
  } else {
    ++tally.kills;
    struck_dead_ |= bit(blow.rank);
  }
}

void Job::wake() {
  std::erase_if(stopped_, [](const auto& one) {
    if (Clock::now() < one.first) return false;
    kill(one.second, SIGCONT);
    return true;
  });
}

void Job::strike_in_time(Tally& tally) {
  for (Due& due : due_) {
    if (due.done) continue;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    const bool aimed = due.blow.rank < 0
                           ? ms.count() >= due.blow.after_events
                           : book_->ranks[due.blow.rank].events >= due.blow.after_events &&
                                 book_->ranks[due.blow.rank].process != 0;
    if (!aimed) continue;
    if (due.aimed == Clock::time_point{}) due.aimed = Clock::now();
    if (Clock::now() < due.aimed + std::chrono::microseconds(due.blow.delay_us)) continue;
    due.done = true;
    strike(due.blow, tally);
  }
  wake();
}

Endings Job::endings() {
  Endings result;
  for (int rank = 0; rank < life_.ranks; ++rank) {
    const RankBook& mine = book_->ranks[rank];
    const bool never = life_.coming[rank] == Coming::never || life_.coming[rank] == Coming::sits;
    if (never) {
      result.killed |= bit(rank);
    } else if (mine.state == RankBook::State::ended) {
      result.ended |= bit(rank);
    } else if (mine.process != 0 ? !runs(mine.process) : launcher_.ended()) {
      // It may have said that it ended since we looked.
      (mine.state == RankBook::State::ended ? result.ended : result.killed) |= bit(rank);
    }
  }
  return result;
}

void Job::judge_segments(Tally& tally) {
  const std::uint32_t number = book_->cleared;
  bool any = false;
  for (int rank = 0; rank < life_.ranks; ++rank) any = any || book_->ranks[rank].segments > number;
  if (!any && !launcher_.ended()) {
    bool playing = false;
    for (int rank = 0; rank < life_.ranks; ++rank)
      playing = playing || alive(rank) || book_->ranks[rank].process == 0;
    if (playing) return;
  }
  const Endings now = endings();
  for (int rank = 0; rank < life_.ranks; ++rank) {
    const bool through = book_->ranks[rank].segments > number;
    if (!through && ((now.killed | now.ended) & bit(rank)) == 0) return;
  }
  if (!life_.endless && int(number) >= life_.segments * life_.worlds) return;
  problems_ += judge(life_, int(number), *book_, now);
  for (int rank = 0; rank < life_.ranks; ++rank) {
    for (Track& track : book_->ranks[rank].tracks) {
      tally.deposits += track.deposits;
      tally.rounds += track.rounds;
      track.deposits = 0;
      track.rounds = 0;
      track.parting = Parting::none;
      track.drops = 0;
      track.stopped_at = 0;
      track.gave_up = false;
    }
  }
  book_->cleared = number + 1;
}

std::string Job::complaints() {
  std::string text;
  for (int rank = 0; rank < life_.ranks; ++rank) {
    const RankBook& mine = book_->ranks[rank];
    if (mine.complained) {
      text += "  rank " + std::to_string(rank) + ", in " + to_string(mine.call) +
              " of collective " + std::to_string(mine.collective) + ", segment " +
              std::to_string(mine.segments) + ": " + mine.complaint + "\n";
    }
  }
  return text;
}

std::string Job::play(Tally& tally) {
  ++tally.lives;
  while (!launcher_.ended()) {
    strike_in_time(tally);
    judge_segments(tally);
    if (meanwhile) meanwhile(*this);
    if (!life_.endless && Clock::now() - began_ > kDeadline) {
      return "it hangs:\n" + who_does_what(life_.ranks, *book_) + problems_ + complaints() +
             text_of(folder_.path() / "output");
    }
    std::this_thread::sleep_for(kLook);
  }
  return judge_the_end(tally);
}

bool Job::exit_code_is_right(int code) {
  if (launcher_struck_) return true;
  // What mpirun ends with is its own affair: Open MPI's is content where it lets the others live,
  // and MPICH's has been seen to be content where it ended them.
  if (life_.launcher != Launcher::run && struck_dead_ != 0) return true;
  const bool killed = code == 128 + SIGKILL;
  if (!life_.survive) return code == 0 || (struck_dead_ != 0 && killed);
  std::uint32_t well = 0;
  for (int rank = 0; rank < life_.ranks; ++rank) {
    if (book_->ranks[rank].state == RankBook::State::ended) well |= bit(rank);
  }
  // One that was struck after its last note may have ended either way.
  if ((well & ~struck_dead_) != 0) return code == 0;
  return killed || (well != 0 && code == 0);
}

std::string Job::judge_the_end(Tally& tally) {
  // What the kernel ends after its launcher takes a moment.
  const auto deadline = Clock::now() + kAftermath;
  while (!launcher_.offspring().empty() && Clock::now() < deadline) {
    wake();
    std::this_thread::sleep_for(2ms);
  }
  const std::vector<pid_t> left = launcher_.offspring();
  for (const pid_t process : left) {
    problems_ += "  process " + std::to_string(process) +
                 " is left behind: " + text_of("/proc/" + std::to_string(process) + "/comm");
  }
  if (life_.endless) book_->enough = true;
  for (std::uint32_t judged = ~0U; judged != book_->cleared;) {
    judged = book_->cleared;
    bool any = false;
    for (int rank = 0; rank < life_.ranks; ++rank) {
      for (const Track& track : book_->ranks[rank].tracks)
        any = any || track.deposits + track.rounds > 0;
    }
    if (any) judge_segments(tally);
  }
  for (int rank = 0; rank < life_.ranks; ++rank) {
    tally.timeouts += book_->ranks[rank].timeouts;
    tally.losses += book_->ranks[rank].lost ? 1 : 0;
  }
  problems_ += complaints();
  problems_ += judge_endings(life_, *book_, struck_dead_,
                             !launcher_struck_ && (life_.survive || struck_dead_ == 0));
  const std::string said = text_of(folder_.path() / "output");
  if (!exit_code_is_right(launcher_.code())) {
    problems_ += "  the launcher ended with " + std::to_string(launcher_.code()) + "\n";
  }
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    if (entry.path().filename() != "output" && life_.launcher == Launcher::run) {
      problems_ += "  a file is left behind: " + entry.path().string() + "\n";
    }
  }
  return problems_.empty() ? "" : problems_ + said;
}

}  // namespace syncopate::campaign

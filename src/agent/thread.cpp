#include "agent/thread.h"

#include <chrono>
#include <utility>
#include <vector>

namespace syncopate::agent {

using board::Time;

namespace {

/// Where the agent sleeps until something comes, none has to ring.
std::vector<in_addr_t> bell_addresses(const fabric::Fabric& fabric,
                                      const fabric::Topology& topology) {
  if (fabric.descriptor() >= 0) return {};
  return fabric::doorbell_addresses(topology);
}

}  // namespace

MakeAgentDriver AgentThread::maker(
    std::function<std::unique_ptr<board::Platform>()> make_platform) {
  return [make_platform = std::move(make_platform)](AgentParts parts) {
    return std::make_unique<AgentThread>(std::move(parts), make_platform());
  };
}

AgentThread::AgentThread(AgentParts parts, std::unique_ptr<board::Platform> platform)
    : memory_(parts.memory),
      platform_(std::move(platform)),
      roster_(memory_.roster(), board::Roster::kAgentsRank, *platform_),
      mailbox_(memory_.mailbox(), roster_, *platform_),
      bell_(parts.topology.machines(), parts.topology.machine,
            bell_addresses(*parts.fabric, parts.topology), [this] { answer_bell(); }) {
  const int descriptor = parts.fabric->descriptor();
  agent_ = std::make_unique<Agent>(std::move(parts.fabric), parts.topology, roster_, mailbox_,
                                   *platform_, bell_, std::move(parts.source), parts.timeout);
  if (descriptor >= 0) watch_.emplace(descriptor, [this] { answer_watch(); });
  thread_ = std::thread([this] { run(); });
}

void AgentThread::finish() {
  if (!thread_.joinable()) return;
  mailbox_.calls().signal(*platform_);
  thread_.join();
}

void AgentThread::set_timeout(Duration timeout) {
  const std::lock_guard lock(turn_);
  if (agent_ != nullptr) agent_->set_timeout(timeout);
}

Time AgentThread::turn(Time now) {
  const std::uint64_t nudges = nudges_.load();
  const bool rung = nudges != std::exchange(last_.nudges, nudges);
  if (rung) polling_.note_ring();
  const Agent::Turn turn = agent_->turn(now, rung);
  if (turn.news) polling_.note_news(now);
  last_.moved = polling_.note_work(now, turn.work) || turn.news;
  last_.told = turn.told;
  return turn.again_at;
}

bool AgentThread::stays_awake(Time now, const CpuBudget& here) const {
  if (driven_) return false;
  return watch_ ? last_.moved : polling_.awake(now, here, here.ranks + 1);
}

Time AgentThread::nap(Time now, Time again_at, const CpuBudget& here) {
  if (watch_) return polling_.nap_under_watch(now, again_at);
  return polling_.nap(now, again_at, here, agent_->others_ring(now));
}

void AgentThread::run() {
  board::become_servant("syncopate agent");
  std::unique_lock lock(turn_);
  for (Time now = platform_->now(); !agent_->over(now); now = platform_->now()) {
    const Time again_at = turn(now);
    if (agent_->over(now)) break;
    const CpuBudget here = budget(now);
    const bool stay = stays_awake(now, here);
    if (stay) polling_.note_awake();
    sleeps_until_ = stay ? now : now + nap(now, again_at, here);
    if (!stay) arm_watch();
    const Time until = sleeps_until_;
    const std::uint64_t calls = agent_->calls_seen();
    const board::Watched nudges{.word = &nudges_, .seen = last_.nudges};
    const auto rest = std::chrono::nanoseconds(PollingPolicy::while_driven(here));
    lock.unlock();
    if (stay) {
      platform_->yield(platform_->now());
    } else {
      mailbox_.calls().sleep(*platform_, calls, until, nudges);
    }
    // Not on the event of calls, so that no rank that calls has to wake it.
    while (driven_) std::this_thread::sleep_for(rest);
    lock.lock();
  }
  const auto agent = std::move(agent_);
  lock.unlock();  // Other threads may want to do the agent's work, and see that there is none left.
}

void AgentThread::answer_watch() {
  if (driven_) return;  // The rank looks itself, and arms the watch when it is through.
  const std::lock_guard lock(turn_);
  for (;;) {
    const Time now = platform_->now();
    if (agent_ == nullptr || agent_->over(now)) return;
    const Time again_at = turn(now);
    if (agent_->over(now)) return nudge();
    if (last_.moved) continue;  // There may be more.
    arm_watch();
    // What is under way goes on when something comes. The agent looks as well, but need not soon.
    const Time looks_at = again_at <= now ? now + PollingPolicy::kUnderWatch : again_at;
    if (looks_at < sleeps_until_) nudge();
    return;
  }
}

void AgentThread::answer_bell() {
  const std::unique_lock lock(turn_, std::try_to_lock);
  if (!lock) return nudge();
  const Time now = platform_->now();
  if (agent_ == nullptr || agent_->over(now)) return;
  polling_.note_ring();
  const Time again_at = turn(now);
  // What it was about may come a moment later: then the agent has to look for it.
  hand_over(now, last_.told ? again_at : now);
}

void AgentThread::hand_over(Time now, Time again_at) {
  if (agent_->over(now) || again_at < sleeps_until_) nudge();
}

void AgentThread::nudge() {
  nudges_.increment();
  mailbox_.calls().nudge(*platform_);
}

void AgentThread::drive(const board::Event& event, std::uint64_t seen, Time until) {
  // Where others need the core, the agent's thread is more likely to get it, and to keep it.
  if (platform_->crowded(platform_->now())) return mailbox_.calls().signal(*platform_);
  driven_ = true;
  const std::lock_guard lock(turn_);  // A turn of the agent is short, and its last for now.
  if (agent_ != nullptr) {
    const Time now = platform_->now();
    polling_.note_news(now);
    agent_->hurry(now);
  }
  while (agent_ != nullptr && event.read() == seen) {
    const Time now = platform_->now();
    if (now >= until || agent_->over(now)) break;
    const Time again_at = turn(now);
    const bool news = event.read() != seen;
    // The agent's own thread rests meanwhile.
    const bool stay = !news && polling_.awake(now, budget(now), roster_.local_size());
    const bool under_way = again_at <= now;
    if (!stay && (under_way || !news)) hand_over(now, again_at);
    if (!stay) break;
    platform_->yield(platform_->now());
  }
  driven_ = false;
  if (agent_ != nullptr) arm_watch();  // After the flag: what comes from here on is the watch's.
}

}  // namespace syncopate::agent

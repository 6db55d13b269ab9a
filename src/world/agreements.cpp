#include "world/agreements.h"

#include "board/step.h"
#include "board/wait.h"
#include "syncopate/error.h"

namespace syncopate::world {

void Agreements::agree(const std::string& description, const CollectiveSpec& spec) {
  roster_.seat().check();
  if (agent_ != nullptr) agent_->check();
  board::Proposal mine{};
  description.copy(mine.data(), mine.size() - 1);
  const std::uint64_t number =
      proposals_.propose(mine, agent_ != nullptr ? spec.pack() : board::Attachment{});
  board::step(board::Step::agree);
  if (agent_ != nullptr) {
    agent_->notify_unless_driving();
  } else if (proposals_.all_made(number)) {
    proposals_.compare_for_all(number, platform_);
    return compare(mine);
  }
  board::Event& event = agent_ != nullptr ? agent_->agreements() : proposals_.event();
  board::Wait wait(roster_, platform_, timeout_, agent_);
  board::Time now = platform_.now();
  wait.begin(now);
  for (;;) {
    const std::uint64_t news = event.read();
    roster_.seat().check();  // A rank that the others gave up has no part in their agreement.
    if (reached(number, mine)) return wait.succeed();
    if (wait.expired(now)) {
      proposals_.leave_on_the_table();
      const std::string here = proposals_.describe_awaited(number);
      wait.give_up(now, (here.empty() ? agent_->awaited() : here) + " to join",
                   std::string("a ") + mine.data(),
                   "Make the same collectives in the same order on every rank, or allow more time "
                   "(SYNCOPATE_TIMEOUT, in seconds)");
    }
    now = wait.for_news(event, news, now, board::kNever, board::Wait::Agent::driven);
  }
}

bool Agreements::reached(std::uint64_t number, const board::Proposal& mine) const {
  if (agent_ == nullptr) {
    if (proposals_.agreed(number)) return true;
    if (!proposals_.all_made(number)) return false;
    compare(mine);
    return true;
  }
  if (agent_->agreed() >= number) return true;
  if (const agent::Dispute* dispute = agent_->dispute(number)) {
    const int other = dispute->words[0] == mine ? 1 : 0;
    disagree(mine.data(), dispute->ranks[other], dispute->words[other].data());
  }
  agent_->check();
  return false;
}

void Agreements::compare(const board::Proposal& mine) const {
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    const board::Proposal* theirs = proposals_.disagreement(rank);
    if (theirs != nullptr) disagree(mine.data(), roster_.rank_of(rank), theirs->data());
  }
}

void Agreements::disagree(const char* mine, int rank, const char* theirs) const {
  throw Error(ErrorCode::mismatch,
              "ranks disagree: rank " + std::to_string(roster_.rank()) + " calls for a " + mine +
                  "; rank " + std::to_string(rank) + " calls for a " + theirs,
              "Make the same collectives with the same arguments, in the same order, on every "
              "rank");
}

}  // namespace syncopate::world

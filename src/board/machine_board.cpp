#include "board/machine_board.h"

namespace syncopate::board {

void MachineBoard::take(RoundNumber round, Share& share) {
  decide(round);
  control_->taken_at.note(host_.now());
  Job job;
  collect({.round = round}, job, share.header);
  share.newest_at = 0;
  if (share.header.newest >= 0) {
    const auto word = DecideWord::unpack(words_[share.header.newest].load());
    share.newest_at = note(share.header.newest, word.taken - 1).arrived.peek();
  }
  share.contributors = contributors_;
  share.reporters = reporters_;
  share.parting_drops = 0;
  share.parting_reporters.assign(reporters_.size(), 0);
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const std::uint32_t dropped = lines_[rank].dropped.peek();
    share.parting_drops += dropped;
    if (dropped > 0) share.parting_reporters[rank / 64] |= std::uint64_t{1} << (rank % 64);
  }
}

MachineBoard::OnlyShare MachineBoard::only_share(RoundNumber round) {
  Job job;
  ResultHeader header;
  if (!collect({.round = round}, job, header)) return {};
  if (job.terms.size() != 1 || job.terms[0].weight != 1) return {};
  int rank = 0;
  while ((contributors_[rank / 64] >> (rank % 64) & 1) == 0) ++rank;
  const auto word = DecideWord::unpack(words_[rank].load());
  const int slot = word.taken - 1;
  return {.values = slot_values(rank, slot),
          .rank = rank,
          .slot = slot,
          .spare = lines_[rank].reading.load() == 0};
}

void MachineBoard::sum_up(RoundNumber round, double divisor, void* into) {
  Job job;
  ResultHeader header;
  collect({.round = round}, job, header);
  weighted_sum(shape_.type, shape_.elements, job.terms, 1 / divisor, into);
}

void MachineBoard::open(RoundNumber round, double divisor) {
  step(Step::start);
  control_->divisor.store(divisor);
  std::uint64_t value = control_->attempt.load();
  // There is one stage more than ranks that could sit on one.
  const AttemptWord next{.round = round, .buffer = free_stage(-1)};
  // A rank that has been slow may only now give up on the round before.
  while (!control_->attempt.replace(value, next.pack())) {
  }
}

Reduction::Outcome MachineBoard::help(AttemptWord attempt, int begin, int end) {
  Job job;
  ResultHeader header;
  if (!collect(attempt, job, header)) return Reduction::Outcome::over;
  return reduction_.help(job, begin, end);
}

int MachineBoard::result_buffer() {
  if (result_ < 0) {
    slowest();
    result_ = free_buffer(published(), -1);
  }
  return result_;
}

void MachineBoard::adopt(const OnlyShare& share) {
  void* const before = result();
  reduction_.move_values(result_buffer(), share.values);
  move_slot_values(share.rank, share.slot, before);
}

void MachineBoard::publish(RoundNumber round, const Said& said) {
  const int buffer = result_buffer();
  reduction_.describe(buffer, said.header, said.contributors, said.reporters);
  step(Step::publish);
  ring_[round % shape_.ring()].store(
      AttemptWord{.round = round, .last = said.header.last, .buffer = buffer}.pack());
  advance(round);
  result_ = -1;
}

}  // namespace syncopate::board

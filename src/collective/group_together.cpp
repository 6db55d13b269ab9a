#include "collective/group_together.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "collective/group_exchange.h"

namespace syncopate::detail {

using board::Time;

double reserve_of(DataType type, int members) {
  return type == DataType::float16 ? std::exp2(std::ceil(std::log2(members))) : 1;
}

GroupTogether::GroupTogether(Agent::Means& means, const board::GroupShape& shape,
                             board::MachineGroupBoard& board, int every)
    : means_(means),
      shape_(shape),
      board_(board),
      every_(static_cast<std::uint64_t>(every)),
      step_(every_),
      everybody_(shape.ranks),
      sum_(*means.channel, means.place, shape.elements * size_of(shape.type),
           fabric::Combine::sum) {
  std::iota(everybody_.begin(), everybody_.end(), 0);
  std::vector<int> ranks(means_.place.machines());
  for (const int machine : means_.place.machine_of) ++ranks[machine];
  largest_ = *std::max_element(ranks.begin(), ranks.end());
  line_bytes_ = sizeof(Line) + largest_ * sizeof(int);
  mine_.resize(line_bytes_);
  lines_.resize(line_bytes_ * means_.place.machines());
}

Time GroupTogether::work(Time now, int rounds) {
  if (phase_ == Phase::idle && !begin(rounds)) return now + kShortly;
  if (phase_ == Phase::gathering && gathering_->done()) sum_up();
  if (phase_ == Phase::summing && sum_.done(moves_)) conclude();
  return board::kNever;
}

bool GroupTogether::begin(int rounds) {
  const bool somebody = board_.anybody_counts();
  if (somebody) {
    if (every_ == 0) return true;
    for (const int rank : everybody_) {
      if (board_.counts(rank) && board_.published_step(rank) < step_) return true;
    }
    const board::Gathering all{.step = step_, .group = 0, .members = everybody_};
    if (buffer_ < 0) buffer_ = board_.reserve_result(all);
    if (buffer_ < 0) return false;
    share_ = board_.choose_all(all);
  } else {
    share_ = {};
  }
  const Line own{.step = somebody ? step_ : 0,
                 .staleness = share_.staleness,
                 .seen = board_.least_seen(),
                 .count = static_cast<int>(share_.contributors.size()),
                 .rounds = rounds};
  std::memcpy(mine_.data(), &own, sizeof own);
  std::memcpy(numbers_of(mine_.data()), share_.contributors.data(),
              share_.contributors.size() * sizeof(int));
  gathering_ = means_.channel->gather(mine_.data(), line_bytes_, lines_.data());
  phase_ = Phase::gathering;
  return true;
}

GroupTogether::Line GroupTogether::line_of(int machine) const {
  Line line;
  std::memcpy(&line, lines_.data() + machine * line_bytes_, sizeof line);
  return line;
}

void GroupTogether::sum_up() {
  gathering_.reset();
  ++moves_;
  std::uint64_t step = 0;
  int rounds = 0;
  int contributors = 0;
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    const Line line = line_of(machine);
    step = std::max(step, line.step);
    rounds += line.rounds;
    contributors += line.count;
    news_.emplace_back(machine, line.seen);
  }
  if (step == 0) {  // Nobody is left anywhere; but what was begun goes to its end.
    over_ = rounds == 0;
    phase_ = Phase::idle;
    return;
  }
  step_ = step;
  stage_.resize(shape_.elements * size_of(shape_.type));
  board::weighted_sum(shape_.type, shape_.elements, share_.terms,
                      1 / reserve_of(shape_.type, largest_), stage_.data());
  if (buffer_ < 0) unread_.resize(stage_.size());
  sum_.begin({.mine = stage_.data(),
              .result = buffer_ >= 0 ? board_.values(buffer_) : unread_.data(),
              .elements = shape_.elements,
              .type = shape_.type,
              .scale = reserve_of(shape_.type, largest_) / std::max(contributors, 1)},
             kTogetherTag);
  phase_ = Phase::summing;
}

void GroupTogether::conclude() {
  std::vector<int> contributors;
  std::uint64_t staleness = 0;
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    const Line line = line_of(machine);
    staleness = std::max(staleness, line.staleness);
    const std::size_t before = contributors.size();
    contributors.resize(before + line.count);
    std::memcpy(contributors.data() + before, numbers_of(lines_.data() + machine * line_bytes_),
                line.count * sizeof(int));
  }
  if (buffer_ >= 0) {
    board_.publish_mean({.step = step_, .group = 0, .members = everybody_}, buffer_, contributors,
                        staleness);
  }
  buffer_ = -1;
  step_ += every_;
  phase_ = Phase::idle;
}

}  // namespace syncopate::detail

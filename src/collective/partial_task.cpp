#include "collective/partial_task.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "board/layout.h"
#include "collective/region.h"
#include "fabric/packet.h"
#include "round/machines.h"
#include "round/step_times.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Reduction;
using board::Time;
using round::Facts;
using round::Message;

/// A sum that is so short goes with the line, to all machines, and each adds all of them up: that
/// is one way to go instead of two.
constexpr std::size_t kLongestWithLine = 4 << 10;
constexpr std::size_t kMostGathered = 64 << 10;
/// Data move only while somebody looks, and a turn of the agent looks at much else.
constexpr int kLooks = 32;

void put_set(fabric::Packer& packer, const RankSet& ranks, int count) {
  for (int rank = 0; rank < count; rank += 8) {
    std::uint8_t byte = 0;
    for (int bit = 0; bit < 8; ++bit) byte |= ranks.contains(rank + bit) ? 1 << bit : 0;
    packer.put(byte);
  }
}

RankSet take_set(fabric::Unpacker& unpacker, int count) {
  RankSet ranks(count);
  for (int rank = 0; rank < count; rank += 8) {
    const auto byte = unpacker.take<std::uint8_t>();
    for (int bit = 0; bit < 8 && rank + bit < count; ++bit) {
      if ((byte >> bit & 1) != 0) ranks.insert(rank + bit);
    }
  }
  return ranks;
}

std::size_t bytes_with_line(std::size_t bytes, std::size_t machines, fabric::Combine combine) {
  if (combine != fabric::Combine::sum) return 0;
  return bytes <= kLongestWithLine && bytes * machines <= kMostGathered ? bytes : 0;
}

/// Machines take part in a round at different times, so that only a clock they share tells who
/// came last. Whoever waits long enough to care waits longer than their wall clocks are apart.
std::int64_t wall_clock_ahead(board::Host& host) {
  std::int64_t result = 0;
  Time narrowest = kNever;
  for (int look = 0; look < 5; ++look) {  // The thread may lose its core between the two clocks.
    const Time before = host.now();
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    const Time took = host.now() - before;
    if (took >= narrowest) continue;
    narrowest = took;
    result = std::chrono::nanoseconds(wall).count() - before;
  }
  return result;
}

}  // namespace

PartialTask::PartialTask(Agent::Means means, std::shared_ptr<Region> region,
                         const board::PartialShape& shape, const PartialOptions& options,
                         fabric::Combine combine)
    : means_(std::move(means)),
      region_(std::move(region)),
      shape_(shape),
      options_(options),
      board_(region_->data(), shape, means_.roster, means_.host),
      ranks_of_(round::ranks_by_machine(means_.place.machine_of)),
      values_bytes_(
          bytes_with_line(shape.elements * size_of(shape.type), ranks_of_.size(), combine)),
      agreement_(options.trigger, options.window, means_.place.machine_of, means_.place.machine,
                 board_.published()),
      wall_clock_ahead_(wall_clock_ahead(means_.host)),
      piece_(length_of_pieces()),
      sum_(*means_.channel, means_.place, shape.elements * size_of(shape.type), combine) {
  std::size_t most = 1;
  for (const auto& ranks : ranks_of_) most = std::max(most, ranks.size());
  set_words_ = (most + 63) / 64;
  line_bytes_ = sizeof(Line) + sets * set_words_ * sizeof(std::uint64_t);
  mine_.resize(line_bytes_ + values_bytes_);
  lines_.resize(mine_.size() * means_.place.machines());
}

std::size_t PartialTask::length_of_pieces() const {
  const std::size_t longest = SumByParts::piece_bytes(ranks_of_.size()) / size_of(shape_.type);
  // As many as there have to be, of one length, each beginning where something may on a board.
  const std::size_t count = std::max<std::size_t>((shape_.elements + longest - 1) / longest, 1);
  const std::size_t unit = board::Layout::kUnit / size_of(shape_.type);
  return ((shape_.elements + count - 1) / count + unit - 1) / unit * unit;
}

std::uint64_t* PartialTask::set(std::byte* line, Set which) const {
  return reinterpret_cast<std::uint64_t*>(line + sizeof(Line)) + which * set_words_;
}

PartialTask::Line PartialTask::line(int machine) const {
  Line result;
  std::memcpy(&result, lines_.data() + machine * mine_.size(), sizeof result);
  return result;
}

bool PartialTask::in_set(int machine, Set which, int rank) const {
  std::uint64_t word = 0;
  const std::byte* sets_of = lines_.data() + machine * mine_.size() + sizeof(Line);
  std::memcpy(&word, sets_of + (which * set_words_ + rank / 64) * sizeof word, sizeof word);
  return (word >> (rank % 64) & 1) != 0;
}

void PartialTask::note_least_seen(Facts& facts) const {
  facts.seen = Facts::kNobodyLags;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (board_.standing(rank) == board::Standing::left || !means_.roster.expected(rank)) continue;
    if (const std::uint64_t seen = board_.seen(rank); seen < facts.seen) {
      facts.seen = seen;
      facts.slowest = rank;
    }
  }
}

Facts PartialTask::facts() {
  const int ranks = shape_.ranks;
  Facts result{.here = RankSet(ranks), .counting = RankSet(ranks)};
  for (int rank = 0; rank < ranks; ++rank) {
    if (board_.has_deposit(rank)) result.here.insert(rank);
    if (board_.counts(rank)) result.counting.insert(rank);
  }
  result.waits = board_.anybody_waits(agreement_.next());
  note_least_seen(result);
  if (result.seen + 1 < agreement_.next()) {
    // A rank that is behind then calls when it has caught up: others may be waiting for it.
    board_.set_blocked();
    note_least_seen(result);
  }
  return result;
}

Duration PartialTask::grace() const {
  if (options_.grace.share <= 0) return options_.grace.fixed;
  return Duration(std::llround(double(typical_step_.count()) * options_.grace.share));
}

void PartialTask::post() {
  for (const auto& [to, message] : agreement_.take_messages()) {
    fabric::Packer packer;
    packer.put(message.kind).put(message.round).put(message.span).put(message.root);
    if (message.kind == Message::Kind::facts) {
      const int count = shape_.ranks;
      packer.put(message.facts.waits).put(message.facts.seen).put(message.facts.slowest);
      put_set(packer, message.facts.here, count);
      put_set(packer, message.facts.counting, count);
    }
    means_.send(to, packer.bytes());
  }
}

void PartialTask::hear(int from, std::span<const std::byte> bytes) {
  fabric::Unpacker unpacker(bytes);
  Message message;
  message.kind = unpacker.take<Message::Kind>();
  message.round = unpacker.take<std::uint64_t>();
  message.span = unpacker.take<int>();
  message.root = unpacker.take<int>();
  if (message.kind == Message::Kind::facts) {
    const int count = static_cast<int>(ranks_of_[from].size());
    message.facts.waits = unpacker.take<bool>();
    message.facts.seen = unpacker.take<std::uint64_t>();
    message.facts.slowest = unpacker.take<int>();
    message.facts.here = take_set(unpacker, count);
    message.facts.counting = take_set(unpacker, count);
  }
  agreement_.hear(from, message, means_.host.now());
  post();
}

Time PartialTask::work(Time now) {
  if (phase_ == Phase::agreeing) own_ = facts();
  const Time again_at = agreement_.observe(own_, grace(), now);  // Others may have to be told.
  post();
  if (phase_ == Phase::agreeing) {
    if (!agreement_.started()) return again_at;
    begin();
  }
  // Where others need the core this one has it for a moment only, and is called again.
  const int looks = means_.host.crowded(now) ? 1 : kLooks;
  for (int look = 0; look < looks && gathering_ != nullptr; ++look) {
    if (gathering_->done()) gathering_.reset();
  }
  if (values_bytes_ > 0) {
    if (gathering_ != nullptr) return now;
    add_up_gathered();
    conclude(now);
    return now;
  }
  if (!opened_ && !divisor_unknown()) open(reserve());
  if (opened_) advance_pieces(now);
  if (gathering_ == nullptr && all_begun() && !under_way_) conclude(now);
  return now;
}

bool PartialTask::divisor_unknown() const {
  return gathering_ != nullptr &&
         (shape_.scale == Scale::contributors || shape_.scale == Scale::weight || divides_first());
}

void PartialTask::begin() {
  board::MachineBoard::Share share;
  own_ = facts();
  board_.take(agreement_.next(), share);
  Line own{.weight = share.header.weight,
           .staleness = share.header.staleness,
           .seen = own_.seen,
           .newest_at = share.newest_at + wall_clock_ahead_,
           .dropped = share.header.dropped,
           .parting_drops = share.parting_drops,
           .newest = share.header.newest < 0 ? -1 : means_.roster.number(share.header.newest),
           .slowest = own_.slowest,
           .held_up_by = agreement_.held_up_by()};
  std::vector<Duration> times;
  std::fill(mine_.begin(), mine_.end(), std::byte{0});
  const auto insert = [&](Set which, int rank) {
    set(mine_.data(), which)[rank / 64] |= std::uint64_t{1} << (rank % 64);
  };
  const auto has = [](const std::vector<std::uint64_t>& bits, int rank) {
    return (bits[rank / 64] >> (rank % 64) & 1) != 0;
  };
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (has(share.contributors, rank)) {
      ++own.contributors;
      insert(contributors, rank);
    }
    if (has(share.reporters, rank)) insert(reporters, rank);
    if (has(share.parting_reporters, rank)) insert(parting_reporters, rank);
    if (own_.counting.contains(rank)) insert(counting, rank);
    if (const Duration time = board_.step_time(rank); board_.counts(rank) && time.count() > 0) {
      times.push_back(time);
    }
  }
  own.step_time = round::median(times).count();
  std::memcpy(mine_.data(), &own, sizeof own);
  if (values_bytes_ > 0) {
    board_.sum_up(agreement_.next(), reserve_for(own.weight), mine_.data() + line_bytes_);
  }
  gathering_ = means_.channel->gather(mine_.data(), mine_.size(), lines_.data());
  // Somebody waits there for this one's line.
  if (const int root = agreement_.started_by(); root >= 0 && root != means_.place.machine) {
    means_.rouse(root);
  }
  phase_ = Phase::exchanging;
  if (values_bytes_ > 0) return;
  begun_ = 0;
  opened_ = false;
  if (!divides_first()) open(1);
}

double PartialTask::divisor() const {
  double result = 1;
  if (shape_.scale == Scale::ranks) result = shape_.world_ranks;
  if (shape_.scale == Scale::contributors || shape_.scale == Scale::weight) {
    result = 0;
    for (int machine = 0; machine < means_.place.machines(); ++machine) {
      const Line one = line(machine);
      result += shape_.scale == Scale::weight ? one.weight : one.contributors;
    }
  }
  return result > 0 ? result : 1;
}

double PartialTask::reserve() const {
  if (!divides_first()) return 1;
  double most = 1;
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    most = std::max(most, line(machine).weight);
  }
  return reserve_for(most);
}

double PartialTask::reserve_for(double weight) const {
  return divides_first() && weight > 1 ? std::exp2(std::ceil(std::log2(weight))) : 1;
}

void PartialTask::add_up_gathered() {
  std::vector<board::Term> terms(means_.place.machines());
  for (int machine = 0; machine < means_.place.machines(); ++machine) {
    terms[machine] = {.values = lines_.data() + machine * mine_.size() + line_bytes_,
                      .weight = reserve_for(line(machine).weight)};
  }
  board::weighted_sum(shape_.type, shape_.elements, terms, 1 / divisor(), board_.result());
}

void PartialTask::open(double divisor) {
  opened_ = true;
  direct_ = {};
  if (divisor == 1) direct_ = board_.only_share(agreement_.next());
  if (direct_.values != nullptr) return;
  board_.open(agreement_.next(), divisor);
  const int chunks = board_.results().chunking().count;
  if (const int helpers = helpers_to_wake(means_.roster, chunks); helpers > 0) {
    board_.signal_helpers(helpers);
  }
}

void PartialTask::advance_pieces(Time now) {
  for (int look = 0; look < kLooks && under_way_; ++look) under_way_ = !sum_.done(moves_);
  const std::size_t chunk = board_.results().chunking().chunk;
  const std::size_t size = size_of(shape_.type);
  if (!all_begun() && !under_way_) {
    const std::size_t end = std::min(begun_ + piece_, shape_.elements);
    void* sum = direct_.values;
    if (sum == nullptr) {
      const board::AttemptWord attempt = board_.attempt();
      const Reduction::Outcome outcome = board_.help(attempt, static_cast<int>(begun_ / chunk),
                                                     static_cast<int>((end + chunk - 1) / chunk));
      if (outcome == Reduction::Outcome::over) return;  // Another attempt has begun: look again.
      if (outcome == Reduction::Outcome::pending) return overcome_stall(attempt, now);
      sum = board_.staged(attempt);
    }
    if (divisor_unknown()) return;
    void* const result = in_place() ? sum : board_.result();
    sum_.begin({.mine = static_cast<std::byte*>(sum) + begun_ * size,
                .result = static_cast<std::byte*>(result) + begun_ * size,
                .elements = end - begun_,
                .type = shape_.type,
                .scale = reserve() / divisor()},
               0);
    under_way_ = true;
    begun_ = end;
  }
}

void PartialTask::overcome_stall(board::AttemptWord attempt, Time now) {
  if (now < stall_.patience_ends(attempt, now)) return;
  // A dead helper's chunks are taken over at the next look; for a live one we start over.
  if (means_.roster.look_after()) return;
  board_.retry(attempt);
  stall_.lost_patience(now);
}

void PartialTask::conclude(Time now) {
  const int machines = means_.place.machines();
  const std::size_t words = (shape_.world_ranks + 63) / 64;
  board::MachineBoard::Said said{.header = {.round = agreement_.next()},
                                 .contributors = std::vector<std::uint64_t>(words),
                                 .reporters = std::vector<std::uint64_t>(words)};
  std::vector<Facts> facts_of(machines);
  std::vector<Duration> times;
  std::int64_t newest_at = std::numeric_limits<std::int64_t>::min();
  int held_up_by = -1;
  int counting_ranks = 0;
  for (int machine = 0; machine < machines; ++machine) {
    const Line one = line(machine);
    said.header.weight += one.weight;
    said.header.staleness = std::max(said.header.staleness, one.staleness);
    said.header.dropped += one.dropped;
    if (one.newest >= 0 && one.newest_at > newest_at) {
      newest_at = one.newest_at;
      said.header.newest = static_cast<std::int16_t>(one.newest);
    }
    if (one.step_time > 0) times.emplace_back(one.step_time);
    const int ranks = static_cast<int>(ranks_of_[machine].size());
    facts_of[machine] = {.here = RankSet(ranks),
                         .counting = RankSet(ranks),
                         .seen = one.seen,
                         .slowest = one.slowest};
    held_up_by = std::max(held_up_by, one.held_up_by);
    for (int rank = 0; rank < ranks; ++rank) {
      const int number = ranks_of_[machine][rank];
      const std::uint64_t bit = std::uint64_t{1} << (number % 64);
      if (in_set(machine, contributors, rank)) said.contributors[number / 64] |= bit;
      if (in_set(machine, reporters, rank)) said.reporters[number / 64] |= bit;
      if (!in_set(machine, counting, rank)) continue;
      facts_of[machine].counting.insert(rank);
      ++counting_ranks;
    }
  }
  if (counting_ranks == 0) {
    said.header.last = true;
    for (int machine = 0; machine < machines; ++machine) {
      said.header.dropped += line(machine).parting_drops;
      for (int rank = 0; rank < static_cast<int>(ranks_of_[machine].size()); ++rank) {
        const int number = ranks_of_[machine][rank];
        if (!in_set(machine, parting_reporters, rank)) continue;
        said.reporters[number / 64] |= std::uint64_t{1} << (number % 64);
      }
    }
    over_ = true;
  }
  // Who was waited for: the last to come, unless the window waited for another.
  if (held_up_by >= 0) said.header.newest = static_cast<std::int16_t>(held_up_by);
  typical_step_ = round::median(times);
  if (in_place()) board_.adopt(direct_);
  board_.publish(agreement_.next(), said);
  agreement_.complete(facts_of, now);
  post();
  phase_ = Phase::agreeing;
}

}  // namespace syncopate::detail

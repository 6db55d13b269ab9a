// The board of a partial allreduce: each rank's slots and decide word, the running round, and
// the results that ranks have not seen yet. This is the mechanism; when a round starts is
// decided above it (src/collective), by rules that know nothing of memory (src/round).
//
// The life of a round t, every step of which any rank may perform:
//   start    the attempt word goes from round t−1 to round t with a free result buffer
//   decide   every rank's word goes from decided t−1 to decided t; deposits are taken
//   reduce   chunks of the buffer are claimed and written (Reduction)
//   publish  the ring entry of t gets the buffer; then the counter of published rounds follows
// No step waits for the rank that performed the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "board/event.h"
#include "board/host.h"
#include "board/opening.h"
#include "board/reduction.h"
#include "board/roster.h"
#include "board/words.h"
#include "syncopate/policy.h"
#include "syncopate/types.h"

namespace syncopate::board {

struct PartialShape {
  std::size_t elements = 0;
  DataType type = DataType::float32;
  int ranks = 1;        ///< Of this machine.
  int world_ranks = 1;  ///< Of all machines.
  int window = 8;
  Scale scale = Scale::ranks;
  std::uint64_t younger_than = LatePolicy::forever;
  bool waits_for_all = false;  ///< A round has a deposit of every rank that still makes any.

  std::size_t bytes() const;
  /// Bytes that are touched when no rank is ever late.
  std::size_t smallest_bytes() const;
  bool across() const { return world_ranks != ranks; }
  /// One per round that some rank has not seen, one for the running round, and one for every
  /// helper that may be stopped in the middle of an attempt. Memory is used by those in use.
  int buffers() const { return window + 1 + ranks + (across() ? 1 : 0); }
  /// Across machines a round has two buffers: the first so many are for the sums of this machine
  /// alone (MachineBoard), the others for results.
  int stages() const { return across() ? 1 + ranks : 0; }
  int ring() const { return window + 2; }
  /// Whether rounds can be settled by the ranks themselves: see PartialBoard::settle().
  bool settles() const;
};

/// How a rank takes part in the rounds of one collective.
enum class Standing : std::uint8_t {
  active,     // makes deposits; triggers count on it
  finishing,  // has no more data, but follows the rounds to the end
  left,       // went: nothing waits for it
};

/// Across machines only the agent of each starts rounds and publishes them, through the
/// MachineBoard; what is said here of any rank then holds for the steps in between.
class PartialBoard {
 public:
  static constexpr int kSlots = 4;  ///< Written, deposited, read by a round, and a merged one.

  PartialBoard(std::byte* memory, const PartialShape& shape, Roster& roster, Host& host);

  /// Makes round `last + 1` the first. For tests, before anybody uses the board.
  void begin_after(RoundNumber last);

  // The owner's side.
  int writable_slot() const;
  /// For a rank that is likely to come last: asks for the lines it needs then, all at once, its own
  /// word's and the others' deposits where they were when this rank last summed up.
  void fetch_ahead() const;
  void* slot(int index) const { return slot_values(roster_.rank(), index); }
  enum class Put {
    dropped,  // too old for the policy
    added,    // to what this rank had on the board already
    arrived,  // this rank had nothing on the board before
  };
  /// Puts the values in `slot` on the board, together with what is still there. `base` is the
  /// last round that the model they were computed on has seen.
  enum class Form {
    values,  // count `weight` times
    sum,     // of values times their weights, which are `weight` together
  };
  /// `firm`: this rank waits for the round after `base`, and deposits nothing more before that.
  Put deposit(int slot, double weight, RoundNumber base, Time now, Form form = Form::values,
              bool firm = false);
  /// Arrives without values.
  Put arrive(RoundNumber base, Time now);
  /// Copies what this rank has on the board and no round has taken, as a sum, and returns what it
  /// adds to the total weight; nothing if there is nothing.
  std::optional<double> copy_carried(void* into) const;
  /// From now on nobody writes over this rank's deposits, taken or not.
  void keep_deposits();
  /// Deposits of this rank that were dropped so far.
  std::uint64_t dropped() const { return dropped_; }
  /// Those of them that no round has reported yet.
  std::uint64_t unreported() const;
  /// Drops of an earlier run, to be reported with the next deposit.
  void report(std::uint64_t drops) { unreported_ += static_cast<std::uint32_t>(drops); }

  // Results.
  RoundNumber published() const { return hot_->event.number(); }
  /// Across machines: when this one last took part in a round.
  Time taken_at() const { return control_->taken_at.peek(); }
  /// The buffer of a round that is published and that this rank has not released; -1 for others.
  int buffer_of(RoundNumber round) const {
    return settled(round) && round > 0 ? own_buffer() : published_buffer(round);
  }
  /// Whether that round is the last one.
  bool is_last(RoundNumber round) const {
    const AttemptWord entry = entry_of(round);
    return entry.round == round && entry.last;
  }
  const Reduction& results() const { return reduction_; }
  const PartialShape& shape() const { return shape_; }
  RoundNumber seen() const { return lines_[roster_.rank()].seen.peek(); }
  RoundNumber seen(int rank) const { return lines_[rank].seen.load(); }
  /// Returns whether somebody had waited for a release.
  bool release_through(RoundNumber round);
  /// The same, and says that this rank waits for `next`: one store orders both.
  bool release_through_and_wait(RoundNumber round, RoundNumber next);

  // Settling. Two ranks that wait for each other with few bytes need nobody to start a round, or
  // publish it: once both have made firm deposits it is known what the round holds, and each reads
  // the other's deposit and sums up for itself. A rank writes into its word with its next deposit
  // that the round has taken the last. Where a round needs more (one of the two is gone, or does
  // not wait) it runs as any other, after catch_up().
  /// Whether a deposit of this rank for `round` in `slot` may be firm.
  bool may_be_firm(int slot, RoundNumber round) const;
  /// For a rank with a firm deposit: whether the other has one for `round`, too.
  bool met(RoundNumber round) const { return firm(other(), round).load() == round; }
  /// If they have met, sums `round` up for this rank alone. The result stays until the next one is
  /// settled.
  bool settle(RoundNumber round);
  bool settled(RoundNumber round) const { return round == settled_; }
  /// Says that the deposit is not firm. If the two have met all the same, the other may have
  /// settled.
  void loosen(RoundNumber round) { firm(roster_.rank(), round).store(0); }
  /// Lets everybody know that the rounds which this rank has settled are over.
  void catch_up();
  /// When this rank's firm deposit was made, for receipts of a round that is not settled.
  void note_arrival(RoundNumber round, Time now) {
    note(roster_.rank(), firm_slot(round)).arrived.note(now);
  }
  /// What changes when the other makes its firm deposit.
  Watched others_firm(RoundNumber round) const {
    const Shared<RoundNumber>& word = firm(other(), round);
    return {.word = &word, .seen = word.load()};
  }

  /// Whether the other is here, or need not be waited for.
  bool others_here() const { return has_deposit(other()) || !counts(other()); }

  // Who is here.
  /// What a round has taken that this rank has settled is no longer there.
  bool has_deposit(int rank) const {
    const auto word = DecideWord::unpack(words_[rank].load());
    return word.deposit != 0 && word.decided >= settled_;
  }
  /// To be called once after each arrival if everybody is waited for: whether ours completes the
  /// round. Costs one counter, so that a rank which is not the last can leave the board alone.
  bool completes_attendance();
  Standing standing(int rank) const { return static_cast<Standing>(standings_[rank].load()); }
  void set_standing(Standing standing);
  /// Whether rounds may be waited for on this rank's account.
  bool counts(int rank) const {
    return standing(rank) == Standing::active && roster_.expected(rank);
  }
  /// Whether `rank` has yet to see `round − window`, so that `round` waits for it.
  bool holds_up(int rank, RoundNumber round) const {
    return standing(rank) != Standing::left && roster_.expected(rank) &&
           seen(rank) + shape_.window < round;
  }
  /// Says that this rank waits for `round`; 0: for none.
  void set_waiting(RoundNumber round) {
    Shared<RoundNumber>& mark = lines_[roster_.rank()].waiting;
    // Only the beginning of a wait has to be seen before what this rank does next.
    round != 0 ? mark.store(round) : mark.release(0);
  }
  /// Whether a rank waits for this very round. One that has yet to wake up from the round before
  /// does not: it may not want another.
  bool anybody_waits(RoundNumber round) const;
  void note_step_time(Duration time) { lines_[roster_.rank()].step_time.note(time.count()); }
  Duration step_time(int rank) const { return Duration(lines_[rank].step_time.peek()); }

  /// When the trigger of `round` was first seen to hold; notes `now` if nobody has seen it.
  Time open_since(RoundNumber round, Time now) { return control_->opening.since(round, now); }

  // Rounds.
  AttemptWord attempt() const { return AttemptWord::unpack(control_->attempt.load()); }
  /// Whether every rank that counts has seen `round − window`.
  bool window_allows(RoundNumber round);
  /// Starts `round`; false if it was started by another or no buffer is free.
  bool start(RoundNumber round, bool last);
  /// Does what can be done for the running round. `pending` means others hold chunks of it.
  Reduction::Outcome help();
  /// Gives up on the running attempt and starts another on a fresh buffer, if there is one.
  void retry(AttemptWord given_up);

  // News.
  Event& event() { return hot_->event; }
  void signal() { hot_->event.signal(host_); }
  void signal_helpers(int count) { hot_->event.signal(host_, count); }
  void set_blocked() { hot_->blocked.store(1); }

 protected:
  struct alignas(128) Hot {         ///< Read by every waiting rank.
    Event event;                    ///< Announces each published round.
    Shared<std::uint64_t> latest;   ///< Its ring entry, to spare readers a cache line.
    Shared<std::uint32_t> blocked;  ///< Somebody waits for a rank to release results.
  };
  struct Control {  ///< Touched by those who run rounds; the ring follows it.
    Shared<std::uint64_t> attempt;
    Opening opening;
    Shared<RoundNumber> slowest;      ///< A bound that somebody has found, for all to use.
    Shared<std::uint32_t> abandoned;  ///< An attempt was given up: buffers may be in use.
    Shared<double> divisor;           ///< Across machines: of the running round.
    Shared<Time> taken_at;            ///< Across machines: when this one took part in a round last.
  };
  struct alignas(64) Line {  ///< One per rank.
    Shared<RoundNumber> seen;
    Shared<RoundNumber> waiting;  ///< The round that it waits for; 0: none.
    Shared<std::int64_t> step_time;
    Shared<std::uint32_t> dropped;  ///< Since the last deposit, for the last round to report.
    Shared<std::uint32_t> reading;  ///< It may be reading a deposit of its own.
  };
  /// What goes with a deposit; frozen while it is on the board, but for the time of a firm one's
  /// arrival, which is noted a moment later. Small enough to share a cache
  /// line with a small vector.
  struct Note {
    enum class Values : std::uint32_t {
      none,    // an arrival without values
      plain,   // count `weight` times in the sum
      merged,  // are a weighted sum already (of 16-bit types: part of one, see factor())
    };
    Shared<RoundNumber> firm;  ///< The round that it is sure to be in, if it is firm.
    Shared<double> weight;     ///< What the deposit adds to the total weight.
    Shared<RoundNumber> base;
    Shared<Time> arrived;
    Shared<Values> values;
    Shared<std::uint32_t> dropped;  ///< Deposits dropped since this rank's last report.

    bool has_values() const { return values.peek() != Values::none; }
  };
  struct Parts;  ///< Where everything lies.
  static constexpr int kNoSlot = -1;
  static constexpr int kNoBuffer = -1;
  /// Stands for the buffer of a round that was settled: each rank has a result of its own. (No
  /// world of two has so many buffers.)
  static constexpr int kSettled = kMostBuffers - 1;
  friend struct PartialShape;

  PartialBoard(std::byte* memory, const PartialShape& shape, const Parts& parts, Roster& roster,
               Host& host);
  std::byte* slot_head(int rank, int slot) const;
  Note& note(int rank, int slot) const { return *reinterpret_cast<Note*>(slot_head(rank, slot)); }
  void* slot_values(int rank, int slot) const {
    return places_.find(rank * kSlots + slot, slot_head(rank, slot) + values_offset_);
  }
  void move_slot_values(int rank, int slot, const void* to) const {
    places_.move(rank * kSlots + slot, to);
  }
  void prefetch_deposits() const;
  int free_slot(const DecideWord& word, int avoid) const;
  /// Our word as it would be if all that we settled were written down.
  DecideWord own_word(std::uint64_t value) const;
  int other() const { return 1 - roster_.rank(); }
  bool other_has_seen(RoundNumber round) const {
    return seen(other()) >= round || standing(other()) == Standing::left ||
           !roster_.expected(other());
  }
  /// Firm deposits lie in two slots in turn, so that the other knows where to look.
  static int firm_slot(RoundNumber round) { return static_cast<int>(round % 2); }
  Shared<RoundNumber>& firm(int rank, RoundNumber round) const {
    return note(rank, firm_slot(round)).firm;
  }
  int own_buffer() const { return shape_.buffers() + roster_.rank(); }
  /// Puts `slot` on the board if our word is still `value`, which means `word`; else reads it anew.
  bool show(int slot, DecideWord word, std::uint64_t& value);
  /// How often the values of a deposit count in the sum.
  double factor(const Note& note) const;
  /// Reads deposits of this rank while its word is `value`; false, and nothing read, if it is not.
  /// What `read` has made of them counts only if the word is still the same afterwards.
  template <typename Read>
  bool read_deposits(std::uint64_t value, const Read& read) const;
  void merge(int older, int fresh, int into);
  bool too_old(RoundNumber base, RoundNumber taken_in) const;
  bool unblock();

  AttemptWord entry_of(RoundNumber round) const;
  int published_buffer(RoundNumber round) const;
  RoundNumber slowest();
  int free_buffer(RoundNumber published_round, int avoid);
  int free_stage(int avoid) const;
  bool decide(RoundNumber round);
  /// Lists what the slots in `gathered_` bring to `round`, and what is to be said of it.
  void gather(RoundNumber round, bool last, ResultHeader& header);
  double scale(const ResultHeader& header) const;
  bool collect(AttemptWord attempt, Job& job, ResultHeader& header);
  void publish(AttemptWord attempt);
  void advance(RoundNumber round);

  PartialShape shape_;
  Roster& roster_;
  Host& host_;
  Hot* hot_;
  Control* control_;
  Shared<std::uint64_t>* words_;     ///< A decide word per rank, packed.
  Shared<std::uint64_t>* arrivals_;  ///< Ranks that came, over all rounds; beside the words.
  Shared<std::uint8_t>* standings_;  ///< Packed: read often, written twice.
  Line* lines_;
  bool keeps_deposits_ = false;
  Shared<std::uint64_t>* ring_;
  std::byte* slots_;
  std::size_t slot_bytes_;
  std::size_t values_offset_;
  Places places_;  ///< Across machines: of the slots' values.
  Reduction reduction_;

  std::uint64_t dropped_ = 0;
  std::uint32_t unreported_ = 0;
  std::uint64_t expected_word_ = 0;  ///< What our word will be once a round has taken the deposit.
  /// Ring entries this rank has read: what is published does not change.
  mutable std::vector<AttemptWord> known_;
  RoundNumber settled_ = 0;    ///< The last round that this rank has settled.
  bool just_settled_ = false;  ///< … and it has deposited nothing since.
  RoundNumber slowest_ = 0;    ///< A bound from below on what every rank has seen.
  std::vector<int> gathered_;  ///< By rank: the slot that a round takes, or kNoSlot.
  std::vector<Term> terms_;
  std::vector<std::uint64_t> contributors_;
  std::vector<std::uint64_t> reporters_;
};

}  // namespace syncopate::board

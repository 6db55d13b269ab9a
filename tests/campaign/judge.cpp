#include "campaign/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "campaign/player.h"

namespace syncopate::campaign {
namespace {

class Judge {
 public:
  Judge(const Life& life, const Collective& collective, int index, const Book& book,
        const Endings& endings)
      : life_(life), collective_(collective), index_(index), book_(book), endings_(endings) {}

  std::string verdict() {
    if (collective_.kind == Collective::Kind::group) {
      judge_group();
      return problems_;
    }
    compare_views();
    if (problems_.empty()) follow_deposits();
    if (problems_.empty()) judge_end();
    if (problems_.empty()) judge_trigger();
    return problems_;
  }

 private:
  const Track& track(int rank) const { return book_.ranks[rank].tracks[index_]; }
  bool killed(int rank) const { return (endings_.killed >> rank & 1) != 0; }
  static bool has(std::uint32_t ranks, int rank) { return (ranks >> rank & 1) != 0; }

  void wrong(const std::string& what) {
    constexpr std::size_t kEnough = 2000;
    if (problems_.size() < kEnough)
      problems_ += "  collective " + std::to_string(index_) + ": " + what + "\n";
  }
  static std::string of(const char* what, std::uint64_t number) {
    return std::string(what) + " " + std::to_string(number);
  }

  void judge_dead(int rank, const Seen& seen) {
    if ((seen.dead & ~endings_.killed) == 0) return;
    wrong(of("rank", rank) + " was told in " + of("round", seen.round) +
          " of deaths that did not happen: " + of("bits", seen.dead & ~endings_.killed));
  }

  /// All ranks have read the same rounds, from the first on.
  void compare_views() {
    for (int rank = 0; rank < life_.ranks; ++rank) {
      const Track& view = track(rank);
      for (std::uint32_t i = 0; i < view.rounds; ++i) {
        const Seen& seen = view.seen[i];
        judge_dead(rank, seen);
        if (seen.round != i + 1) return wrong(of("rank", rank) + " skipped " + of("round", i + 1));
        if (i == rounds_.size()) rounds_.push_back(&seen);
        const Seen& known = *rounds_[i];
        const bool same = seen.print == known.print && seen.contributors == known.contributors &&
                          seen.dropped == known.dropped && seen.drops == known.drops &&
                          seen.staleness == known.staleness && seen.weight == known.weight &&
                          seen.last == known.last;
        if (!same)
          wrong("two ranks differ in " + of("round", seen.round) + ", one is " + of("rank", rank));
      }
    }
  }

  bool shows_word(int rank) const { return std::size_t(rank) < collective_.elements; }
  bool shows_weight(int rank) const {
    return std::size_t(rank) + life_.ranks < collective_.elements;
  }

  /// Takes deposits of each rank in their order until they make up what is in each sum.
  void follow_deposits() {
    bool all_shown = true;
    for (int rank = 0; rank < life_.ranks; ++rank) all_shown = all_shown && shows_word(rank);
    for (const Seen* seen : rounds_) {
      double weight = 0;
      std::uint64_t least = 0;
      std::uint64_t most = 0;
      for (int rank = 0; rank < life_.ranks; ++rank) {
        if (!shows_word(rank)) continue;
        const double target = seen->sums[rank][0];
        if ((target > 0) != has(seen->contributors, rank)) {
          return wrong("the receipt of " + of("round", seen->round) + " and its sum differ about " +
                       of("rank", rank));
        }
        double words = 0;
        double weights = 0;
        while (words < target) {
          const Deposit* deposit = next_of(rank);
          if (deposit == nullptr) {
            return wrong(of("round", seen->round) + " has more than " + of("rank", rank) +
                         " deposited");
          }
          words += deposit->weight * word_of(rank, next_[rank] - 1, collective_.type);
          weights += deposit->weight;
          least = std::max<std::uint64_t>(least, age(seen->round, deposit->base_most));
          most = std::max<std::uint64_t>(most, age(seen->round, deposit->base_least));
        }
        weight += weights;
        if (words != target || (shows_weight(rank) && weights != seen->sums[rank][1])) {
          return wrong("what " + of("round", seen->round) + " has of " + of("rank", rank) +
                       " is not made of its deposits, each once, in order: " +
                       std::to_string(target) + " where " + std::to_string(words) +
                       " would be right, up to " + of("deposit", next_[rank]));
        }
      }
      if (seen->staleness > std::uint64_t(collective_.options.window)) {
        wrong(of("round", seen->round) + " has a staleness above the window");
      }
      if (!all_shown) continue;
      if (weight != seen->weight) {
        wrong("the receipt of " + of("round", seen->round) + " says weight " +
              std::to_string(seen->weight) + ", its deposits " + std::to_string(weight));
      }
      if (seen->staleness < least || seen->staleness > most) {
        wrong("the receipt of " + of("round", seen->round) + " says " +
              of("staleness", seen->staleness) + ", its deposits " + of("from", least) +
              of(" to", most));
      }
    }
  }

  static std::uint64_t age(std::uint64_t round, std::uint64_t base) {
    return base < round ? round - 1 - base : 0;
  }

  /// The rank's next deposit that was not dropped; nullptr if there is none.
  const Deposit* next_of(int rank) {
    const Track& view = track(rank);
    std::uint32_t& next = next_[rank];
    while (next < view.deposits && view.deposit[next].dropped) ++next;
    return next < view.deposits ? &view.deposit[next++] : nullptr;
  }

  void judge_end() {
    const bool over = !rounds_.empty() && rounds_.back()->last;
    std::uint64_t reported = 0;
    for (const Seen* seen : rounds_) {
      reported += seen->drops;
      if (seen->last && seen != rounds_.back()) wrong("rounds after the last one");
    }
    std::uint64_t drops = 0;
    std::uint64_t unsure = 0;
    std::uint64_t of_the_dead =
        0;  // A rank tells of its drops with its next deposit, or when it stops.
    for (int rank = 0; rank < life_.ranks; ++rank) {
      const Track& view = track(rank);
      drops += view.drops;
      if (killed(rank)) of_the_dead += view.drops;
      if (view.deposits > 0 && !view.deposit[view.deposits - 1].made) ++unsure;
      if (view.parting == Parting::finished && (!over || view.rounds != rounds_.size())) {
        wrong(of("rank", rank) + " finished without the last round");
      }
      const bool all_came = collective_.kind == Collective::Kind::allreduce && !view.gave_up &&
                            !killed(rank) && view.parting == Parting::left;
      if (!shows_word(rank) || !(over || all_came)) continue;
      while (const Deposit* left = next_of(rank)) {
        if (left->made)
          wrong(of("deposit", next_[rank] - 1) + " of " + of("rank", rank) + " is lost");
      }
    }
    if (reported > drops + unsure) wrong("more drops are reported than there were");
    if (over && reported + of_the_dead < drops) {
      wrong("of " + of("", drops) + " drops only" + of("", reported) + " are reported");
    }
    judge_news();
  }

  /// A rank that has come to the end without one that died knows of its death.
  void judge_news() {
    for (int rank = 0; rank < life_.ranks; ++rank) {
      if (track(rank).parting != Parting::finished || killed(rank)) continue;
      if (book_.ranks[rank].segments <= book_.cleared) continue;  // It has not looked since.
      for (int other = 0; other < life_.ranks; ++other) {
        if (!killed(other) || track(other).stopped_at != 0) continue;
        if (!has(book_.ranks[rank].dead, other)) {
          wrong(of("rank", rank) + " was not told that " + of("rank", other) + " is dead");
        }
      }
    }
  }

  /// Where all live and none has stopped, a round has those whom its trigger asks for.
  void judge_trigger() {
    if (collective_.empties || collective_.options.late != carry()) return;
    if (endings_.killed != 0 || endings_.ended != 0) return;
    int needed = 1;
    if (collective_.options.trigger.kind == Trigger::Kind::all) needed = life_.ranks;
    if (collective_.options.trigger.kind == Trigger::Kind::count) {
      needed = collective_.options.trigger.count;
    }
    std::int64_t first_stop = std::numeric_limits<std::int64_t>::max();
    for (int rank = 0; rank < life_.ranks; ++rank) {
      if (track(rank).stopped_at != 0)
        first_stop = std::min<std::int64_t>(first_stop, track(rank).stopped_at);
    }
    for (const Seen* seen : rounds_) {
      if (seen->at >= first_stop) return;
      const int came = __builtin_popcount(seen->contributors);
      if (came < needed) {
        wrong(of("round", seen->round) + " began with" + of("", came) + " ranks of" +
              of("", needed));
      }
    }
  }

  void judge_group() {
    struct Group {
      std::uint32_t members;
      const Seen* included = nullptr;
      const Seen* decoded = nullptr;
    };
    std::map<std::uint64_t, std::vector<Group>> groups;
    for (int rank = 0; rank < life_.ranks; ++rank) {
      const Track& view = track(rank);
      for (std::uint32_t i = 0; i < view.rounds; ++i) {
        const Seen& seen = view.seen[i];
        judge_dead(rank, seen);
        std::vector<Group>& of_step = groups[seen.round];
        auto group = std::find_if(of_step.begin(), of_step.end(), [&](const Group& one) {
          return (one.members & seen.contributors) != 0;
        });
        if (group == of_step.end()) group = of_step.insert(group, {.members = seen.contributors});
        if (group->members != seen.contributors) {
          return wrong("members of a group differ about its members in " + of("step", seen.round));
        }
        if (seen.included) {
          if (group->included != nullptr && group->included->print != seen.print) {
            wrong("members of a group have different weights after " + of("step", seen.round));
          }
          group->included = &seen;
        }
        if (!seen.decoded) continue;
        for (int member = 0; member < life_.ranks; ++member) {
          if (!has(seen.contributors, member)) continue;
          if (seen.sums[member][0] > track(member).deposits) {
            wrong(of("step", seen.round) + " has more than " + of("rank", member) + " published");
          }
          if (group->decoded != nullptr &&
              group->decoded->sums[member][0] != seen.sums[member][0]) {
            wrong("members of a group have different publications of " + of("rank", member) +
                  " in " + of("step", seen.round));
          }
        }
        group->decoded = &seen;
      }
    }
  }

  const Life& life_;
  const Collective& collective_;
  int index_;
  const Book& book_;
  const Endings& endings_;
  std::vector<const Seen*> rounds_;
  std::array<std::uint32_t, kMostRanks> next_{};
  std::string problems_;
};

}  // namespace

std::string judge(const Life& life, int number, const Book& book, const Endings& endings) {
  const Segment segment = life.segment(number);
  std::string problems;
  for (std::size_t i = 0; i < segment.collectives.size(); ++i) {
    problems += Judge(life, segment.collectives[i], int(i), book, endings).verdict();
  }
  return problems.empty() ? "" : "segment " + std::to_string(number) + ":\n" + problems;
}

}  // namespace syncopate::campaign

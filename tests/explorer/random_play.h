// A play in which chance decides what happens next, with a clock of its own: time stands still
// while something can happen, except now and then.
#pragma once

#include <cstdint>
#include <string>

#include "explorer/random.h"
#include "round/time.h"

namespace syncopate::testing {

class RandomPlay {
 public:
  virtual ~RandomPlay() = default;

 protected:
  /// `seldom`: how seldom time goes on while something can happen.
  RandomPlay(std::uint64_t seed, int seldom) : random_(seed), seldom_(seldom) {}

  /// Until it is over or something goes wrong.
  void play() {
    constexpr int kMostActions = 2'000'000;
    for (int actions = 0; failure_.empty() && !over(); ++actions) {
      if (actions == kMostActions) return fail("the play does not come to its end");
      const int choices = list_choices();
      if ((choices == 0 || random_.one_in(seldom_)) && pass_time()) continue;
      if (choices == 0) return fail("nothing can happen any more, and the ranks are not through");
      take(random_.below(choices));
    }
  }
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  virtual bool over() const = 0;
  /// Finds out what can happen now; returns how many things.
  virtual int list_choices() = 0;
  virtual void take(int choice) = 0;
  /// The next moment after now that a machine waits for; kNever if there is none.
  virtual round::Time next_moment() const = 0;

  Random random_;
  round::Time now_ = 0;
  std::string failure_;

 private:
  int seldom_;

  bool pass_time() {
    const round::Time next = next_moment();
    if (next == round::kNever) return false;
    now_ = next;
    return true;
  }
};

}  // namespace syncopate::testing

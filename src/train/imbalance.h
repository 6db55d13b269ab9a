// How unequal the ranks' steps are made on purpose, as a user asks for it with --imbalance.
// What that means for each step of a rank is in injected_delays.h.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "syncopate/policy.h"

namespace syncopate::train {

struct Imbalance {
  /// "none": steps last as long as they last.
  struct None {
    friend bool operator==(const None&, const None&) = default;
  };
  /// "random:1x20ms": in each step so many different ranks, drawn anew, are delayed.
  struct Random {
    int ranks = 1;
    Duration delay{0};
    friend bool operator==(const Random&, const Random&) = default;
  };
  /// "shift:5..40ms": every rank is delayed, by evenly spaced times that move on to the
  /// neighbor with each step. A rank alone is always delayed by the least.
  struct Shift {
    Duration least{0};
    Duration most{0};
    friend bool operator==(const Shift&, const Shift&) = default;
  };
  /// "persistent:0*8+1*2": the steps of these ranks last so many times as long.
  struct Persistent {
    struct Slow {
      int rank = 0;
      double factor = 1;
      friend bool operator==(const Slow&, const Slow&) = default;
    };
    std::vector<Slow> slow;
    friend bool operator==(const Persistent&, const Persistent&) = default;
  };
  /// "lognormal:10ms,0.8": a step lasts at least a time drawn for it, of this median; sigma is
  /// the standard deviation of its logarithm.
  struct Lognormal {
    Duration median{0};
    double sigma = 0;
    friend bool operator==(const Lognormal&, const Lognormal&) = default;
  };
  /// "trace:FILE": a step lasts at least as long as a recorded one. The file has one time per
  /// line, in milliseconds where it has no unit; # starts a comment. Each rank starts at its
  /// own place in the file and goes round.
  struct Trace {
    std::string file;
    friend bool operator==(const Trace&, const Trace&) = default;
  };

  std::variant<None, Random, Shift, Persistent, Lognormal, Trace> form;

  /// Reads any of the forms above; throws Error for others. Opens no file.
  static Imbalance parse(std::string_view text);
  friend bool operator==(const Imbalance&, const Imbalance&) = default;
};

std::string to_string(const Imbalance& imbalance);

}  // namespace syncopate::train

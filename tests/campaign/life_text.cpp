// Lives in words, for those that fail.
#include "campaign/life.h"

namespace syncopate::campaign {

std::string Collective::text() const {
  std::string text = std::to_string(elements) + " " + syncopate::to_string(type) + ", ";
  if (kind == Kind::group) {
    return "group average of " + text + "groups of " + std::to_string(group.group_size) +
           ", everyone each " + std::to_string(group.synchronize_every) + " steps, " +
           (group.rotate ? "" : "not rotating, ") + "trigger " +
           syncopate::to_string(group.trigger) + ", grace " + syncopate::to_string(group.grace) +
           ", late " + syncopate::to_string(group.late) + ", window " +
           std::to_string(group.window) + ", seed " + std::to_string(group.seed);
  }
  const std::string scale =
      std::string("scale ") + syncopate::to_string(options.scale) + (weighted ? ", weighted" : "");
  if (kind == Kind::allreduce) return "allreduce of " + text + scale;
  return "partial allreduce of " + text + "trigger " + syncopate::to_string(options.trigger) +
         ", late " + syncopate::to_string(options.late) + ", grace " +
         syncopate::to_string(options.grace) + ", window " + std::to_string(options.window) + ", " +
         scale + (empties ? ", empty arrivals" : "") + (keeps ? ", deposits kept" : "");
}

std::string Segment::text() const {
  std::string text = std::to_string(steps) + " steps of up to " + std::to_string(busy_us) + " us";
  if (odd_one >= 0) text += ", rank " + std::to_string(odd_one) + " asks for something else first";
  if (barrier) text += ", a barrier";
  if (root >= 0) {
    text +=
        ", a broadcast of " + std::to_string(broadcast) + " bytes by rank " + std::to_string(root);
  }
  for (const Collective& one : collectives) text += "\n    " + one.text();
  return text;
}

std::string Life::text() const {
  std::string text = "seed " + std::to_string(seed) + ": " + std::to_string(ranks) +
                     " ranks started by " + to_string(launcher) +
                     (split.empty() ? "" : ", split by " + split) + (survive ? ", surviving" : "") +
                     (trips ? ", steps that throw" : "") +
                     (worlds > 1 ? ", worlds made again" : "");
  if (timeout_ms > 0) text += ", timeout " + std::to_string(timeout_ms) + " ms";
  for (int rank = 0; rank < ranks; ++rank) {
    constexpr const char* kHow[] = {"at once", "late", "never", "not, and lives on"};
    if (coming[rank] == Coming::at_once) continue;
    text += "\n  rank " + std::to_string(rank) + " joins " + kHow[int(coming[rank])] +
            (late_ms[rank] > 0 ? " (" + std::to_string(late_ms[rank]) + " ms)" : "");
  }
  for (const Blow& blow : blows) {
    text += "\n  " +
            std::string(blow.rank < 0 ? "the launcher" : "rank " + std::to_string(blow.rank)) +
            " gets signal " + std::to_string(blow.signal) + " after " +
            std::to_string(blow.after_events) + (blow.rank < 0 ? " ms" : " events") +
            (blow.delay_us > 0 ? " and " + std::to_string(blow.delay_us) + " us" : "") +
            (blow.stopped_ms > 0 ? ", for " + std::to_string(blow.stopped_ms) + " ms" : "");
  }
  const int shown = endless ? kDifferentSegments : segments * worlds;
  for (int i = 0; i < shown; ++i) text += "\n  " + segment(i).text();
  return text + "\n";
}

}  // namespace syncopate::campaign

// The verdict of a soak as it is kept: what was done, for how long, on which machine and under
// which load, and how much its processes grew.
#pragma once

#include <string>
#include <vector>

#include "campaign/samples.h"
#include "campaign/soak.h"

namespace syncopate::campaign {

struct Verdict {
  const SoakSettings& settings;
  std::string problems;
  std::string done;
  double seconds = 0;
  double load_before = 0;
  std::vector<std::string> jobs;
};

/// The number of processes that want to run, over the last minute; -1 if the system does not say.
double load_average();

/// Writes it to settings.result, if that is named.
void write_verdict(const Verdict& verdict, const Samples& samples);

}  // namespace syncopate::campaign

// Traces of step times.
#include <sstream>

#include "fuzz/refused.h"
#include "train/injected_delays.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  std::istringstream text{std::string(text_of(data, size))};
  std::vector<Duration> times;
  if (!taken([&] { times = train::read_step_times(text, "FILE"); })) return 0;
  if (times.empty()) broken("a trace has times");
  for (const Duration time : times) {
    if (time < Duration(0)) broken("no step takes less than nothing");
  }
  return 0;
}

// metrics.jsonl of a run that goes on.
#include "train/metrics.h"

#include <sstream>

#include "fuzz/refused.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  const std::map<int, double> clocks{{0, 2.5}, {1, 1.5}};
  const auto kept_of = [&](const std::string& text) {
    std::istringstream from(text);
    std::string kept;
    train::keep_metrics(from, clocks, [&](const std::string& line) { kept += line + "\n"; });
    return kept;
  };
  const std::string kept = kept_of(std::string(text_of(data, size)));
  if (kept.size() > size + 1) broken("no line is added");
  if (kept_of(kept) != kept) broken("what is kept once is kept");
  return 0;
}

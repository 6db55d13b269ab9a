// When a training ends, as users write it.
#include "fuzz/refused.h"
#include "train/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  train::Until until;
  if (!taken([&] { until = train::Until::parse(text_of(data, size)); })) return 0;
  if (!(until.amount > 0)) broken("a run lasts some time");
  if (train::Until::parse(to_string(until)) != until) broken("an end is read as it was written");
  return 0;
}

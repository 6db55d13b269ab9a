// What users write for --imbalance, and the trace files it may name.
#include "train/imbalance.h"

#include "fuzz/refused.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  train::Imbalance read;
  if (!taken([&] { read = train::Imbalance::parse(text_of(data, size)); })) return 0;
  if (train::Imbalance::parse(to_string(read)) != read)
    broken("an imbalance is read as it was written");
  return 0;
}

// The names and parameters of strategies, as users write them.
#include "syncopate/strategy.h"

#include "fuzz/refused.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  const std::string text(text_of(data, size));
  std::string whole;
  const bool known = taken([&] { whole = spell_out_strategy(text); });
  for (const int ranks : {1, 8, 1000}) {
    if (taken([&] { check_strategy(text, ranks); }) && !known)
      broken("what can be checked can be spelt out");
  }
  if (known && spell_out_strategy(whole) != whole)
    broken("spelt out twice, a strategy stays the same");
  return 0;
}

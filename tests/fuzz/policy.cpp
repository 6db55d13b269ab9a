// Triggers, graces and late policies, as users write them.
#include "syncopate/policy.h"

#include "fuzz/refused.h"

namespace {

/// What is read is written so that it is read again as the same.
template <typename Policy>
void read(std::string_view text) {
  using namespace syncopate;
  Policy policy;
  if (!taken([&] { policy = Policy::parse(text); })) return;
  if (Policy::parse(to_string(policy)) != policy) broken("a policy is read as it was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  const std::string_view text = text_of(data, size);
  read<Trigger>(text);
  read<Grace>(text);
  read<LatePolicy>(text);
  return 0;
}

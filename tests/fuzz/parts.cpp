// parts.json of a checkpoint.
#include "fuzz/refused.h"
#include "train/bytes.h"
#include "train/checkpoint_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  std::vector<int> ranks;
  const bool read = taken([&] {
    train::reading("FILE", [&] { ranks = train::parse_part_list(text_of(data, size)); });
  });
  if (!read) return 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || (i > 0 && ranks[i] <= ranks[i - 1])) broken("each rank is named once");
  }
  if (ranks.empty()) broken("a checkpoint has a part");
  return 0;
}

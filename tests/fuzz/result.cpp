// result.json of a run.
#include "train/result.h"

#include <nlohmann/json.hpp>

#include "fuzz/refused.h"
#include "train/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  train::Result read;
  const auto parse = [&](std::string_view text) {
    return taken([&] { train::reading("FILE", [&] { read = train::parse_result(text); }); });
  };
  if (!parse(text_of(data, size))) return 0;
  if (!parse(nlohmann::json(read).dump())) broken("a result is read as it was written");
  return 0;
}

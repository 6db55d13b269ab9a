// config.json of a run.
#include "train/config.h"

#include "base/printable.h"
#include "fuzz/refused.h"
#include "train/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  train::Config read;
  const auto parse = [&](std::string_view text) {
    return taken([&] {
      train::reading("FILE", [&] {
        read = train::parse_config(text);
        train::check_settings(read);
      });
    });
  };
  if (!parse(text_of(data, size))) return 0;
  const train::Config first = read;
  // Each of them is shown to the user.
  for (const std::string* text :
       {&first.workload, &first.model, &first.strategy, &first.optimizer, &first.strategy_in_full,
        &first.schedule, &first.imbalance, &first.device, &first.data}) {
    if (!base::is_printable(*text)) broken("no setting has a control character");
  }
  if (!parse(train::config_text(first)) || read != first)
    broken("settings are read as they were written");
  return 0;
}

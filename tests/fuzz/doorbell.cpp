// Datagrams that come to a doorbell, addresses of other machines' bells, and the texts of plug-ins.
#include "fabric/doorbell.h"

#include <stdexcept>
#include <string>

#include "fabric/plugin.h"
#include "fabric/split.h"
#include "fuzz/input.h"
#include "fuzz/refused.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace syncopate;
  using fabric::Doorbell;
  Input input(data, size);
  const int which = input.below(4);
  const auto bytes = input.take_bytes(size);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (which == 0) {
    constexpr std::uint64_t kSecret = 0x3132333435363738;
    const int from = Doorbell::who_rings(bytes, kSecret, 3);
    if (from < -1 || from >= 3) broken("a machine rings that there is");
    if (from >= 0 && text.substr(0, 8) != "87654321")
      broken("a machine that rings knows the secret");
  } else if (which == 1) {
    Doorbell silent(2, 0, {}, [] {});
    sensible([&] { silent.learn(1, bytes); });
    silent.prefer(1, 0);
  } else if (which == 2) {
    taken([&] { throw fabric::as_error(std::runtime_error(text)); });
  } else {
    taken([&] {
      try {
        for (const int part : fabric::parse_split(text)) {
          if (part < 1) broken("machines have ranks");
        }
      } catch (const std::exception& exception) {
        throw fabric::as_error(exception);
      }
    });
  }
  return 0;
}

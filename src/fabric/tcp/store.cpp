#include "fabric/tcp/store.h"

#include <arpa/inet.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/text.h"
#include "fabric/tcp/store_client.h"
#include "fabric/tcp/store_keeper.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string variable(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : text;
}

int port_from(const char* name, int highest) {
  const char* text = std::getenv(name);
  const auto port = text != nullptr ? base::number<int>(text, 1, highest) : std::nullopt;
  if (port) return *port;
  throw Error(
      ErrorCode::environment,
      std::string(name) + (text == nullptr ? " is not set" : " is \"" + std::string(text) + "\""),
      "Set it to a port from 1 to " + std::to_string(highest) +
          ", the same for all ranks: torchrun sets MASTER_PORT, and SYNCOPATE_PORT "
          "overrides it");
}

}  // namespace

Digest users_secret(const std::string& text) {
  return hmac_sha256(bytes_of(variable(kSecretVariable, "")), {bytes_of(text)});
}

std::unique_ptr<Rendezvous> make_store(const StorePlace& place) {
  if (place.rank == 0) return std::make_unique<StoreKeeper>(place);
  return std::make_unique<StoreClient>(place);
}

StorePlace store_place_from_environment(int rank, int size, bool one_host) {
  constexpr int kHighestPort = 65535;
  const char* const host = std::getenv("MASTER_ADDR");
  if (host == nullptr) {
    throw Error(ErrorCode::environment, "MASTER_ADDR is not set",
                "Start the ranks with torchrun, or set it to the host of rank 0");
  }
  const int port = std::getenv(kPortVariable) != nullptr
                       ? port_from(kPortVariable, kHighestPort)
                       : port_from("MASTER_PORT", kHighestPort - 1) + 1;
  return {.host = host,
          .port = port,
          .rank = rank,
          .size = size,
          .one_host = one_host,
          .job = variable("TORCHELASTIC_RUN_ID", "") + "/" +
                 variable("TORCHELASTIC_RESTART_COUNT", "0")};
}

}  // namespace syncopate::fabric::tcp

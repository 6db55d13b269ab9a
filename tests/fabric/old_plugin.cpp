// A plug-in of another version. It knows that it is not meant.
#include <cstdint>

namespace {
constexpr int kOldVersion = 3;
}

extern "C" __attribute__((visibility("default"))) void* syncopate_fabric_link(
    int version, std::int64_t /*timeout*/) {
  return version == kOldVersion ? reinterpret_cast<void*>(1) : nullptr;
}

#include "loop/pending.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace syncopate::loop {
namespace {

using Bytes = std::vector<std::byte>;

/// Both ends of a broadcast are this very library: names, then numbers or vectors, as they lie in
/// memory.
class Writer {
 public:
  template <typename T>
  void write(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::uint64_t count = values.size();
    append(&count, sizeof count);
    append(values.data(), values.size_bytes());
  }
  Bytes take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t bytes) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + bytes);
    if (bytes > 0) std::memcpy(bytes_.data() + end, data, bytes);
  }
  Bytes bytes_;
};

class Reader {
 public:
  explicit Reader(const Bytes& bytes) : bytes_(bytes) {}
  bool done() const { return at_ == bytes_.size(); }
  template <typename T>
  std::vector<T> read() {
    std::uint64_t count = 0;
    take(&count, sizeof count);
    std::vector<T> values(count);
    take(values.data(), count * sizeof(T));
    return values;
  }

 private:
  void take(void* into, std::size_t bytes) {
    if (bytes > 0) std::memcpy(into, bytes_.data() + at_, bytes);
    at_ += bytes;
  }
  const Bytes& bytes_;
  std::size_t at_ = 0;
};

Bytes pending_of(const StrategyState& state) {
  Writer writer;
  for (const auto& [name, entry] : state.entries) {
    if (entry.sharing != Sharing::pending) continue;
    writer.write(std::span<const char>(name));
    const auto* vector = std::get_if<std::vector<float>>(&entry.value);
    const double number = vector != nullptr ? 0 : std::get<double>(entry.value);
    writer.write(std::span<const double>(&number, vector != nullptr ? 0 : 1));
    writer.write(vector != nullptr ? std::span<const float>(*vector) : std::span<const float>());
  }
  return writer.take();
}

void add_pending(StrategyState& state, const Bytes& bytes) {
  Reader reader(bytes);
  while (!reader.done()) {
    const std::vector<char> name = reader.read<char>();
    const std::vector<double> number = reader.read<double>();
    std::vector<float> vector = reader.read<float>();
    StateEntry& entry = state.entries[std::string(name.begin(), name.end())];
    entry.sharing = Sharing::pending;
    if (number.empty()) {
      entry.value = std::move(vector);
    } else {
      entry.value = number.front();
    }
  }
}

}  // namespace

StrategyState gather_pending(World& world, const RankSet& ranks, const StrategyState& own) {
  StrategyState gathered = own;
  gathered.make_stand_in();
  const StrategyState same = gathered;
  for (const int rank : ranks.list()) {
    Bytes bytes = rank == world.rank() ? pending_of(own) : Bytes();
    std::uint64_t size = bytes.size();
    world.broadcast(std::span(&size, 1), rank);
    bytes.resize(size);
    if (size == 0) continue;
    world.broadcast(std::span(bytes), rank);
    StrategyState theirs = same;
    add_pending(theirs, bytes);
    gathered.inherit(theirs);
  }
  return gathered;
}

StrategyState share_of(const World& world, const StrategyState& gathered) {
  StrategyState share = gathered;
  if (world.rank() != 0) share.make_stand_in();
  share.stand_in = true;
  return share;
}

}  // namespace syncopate::loop

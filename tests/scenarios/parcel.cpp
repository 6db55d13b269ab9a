#include "scenarios/parcel.h"

#include <cstring>
#include <type_traits>

namespace syncopate::testing {
namespace {

class Packer {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void operator()(const T& value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  template <typename List>
  requires requires(const List& list) { list.size(), list.begin(); }
  void operator()(const List& list) {
    (*this)(list.size());
    for (const auto& one : list) (*this)(one);
  }
  void operator()(const RankSet& ranks) { (*this)(ranks.list()); }

  std::vector<char> take() { return std::move(bytes_); }

 private:
  std::vector<char> bytes_;
};

class Unpacker {
 public:
  Unpacker(const std::vector<char>& bytes, int ranks) : bytes_(bytes), ranks_(ranks) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void operator()(T& value) {
    std::memcpy(&value, bytes_.data() + next_, sizeof value);
    next_ += sizeof value;
  }
  template <typename List>
  requires requires(List& list) { list.resize(1); }
  void operator()(List& list) {
    std::size_t size = 0;
    (*this)(size);
    list.resize(size);
    for (auto& one : list) (*this)(one);
  }
  void operator()(RankSet& ranks) {
    std::vector<int> list;
    (*this)(list);
    ranks = RankSet(ranks_);
    for (const int rank : list) ranks.insert(rank);
  }

 private:
  const std::vector<char>& bytes_;
  int ranks_;
  std::size_t next_ = 0;
};

/// The same for either direction.
void pass(auto& parcel, Reading& reading) {
  Receipt& receipt = reading.receipt;
  parcel(reading.values);
  parcel(reading.at);
  parcel(reading.call);
  parcel(receipt.round);
  parcel(receipt.contributors);
  parcel(receipt.included);
  parcel(receipt.dropped);
  parcel(receipt.drops);
  parcel(receipt.staleness);
  parcel(receipt.weight);
  parcel(receipt.waited);
  parcel(receipt.waited_for);
  parcel(receipt.last);
  parcel(receipt.dead);
}

void pass(auto& parcel, Part& part) {
  RankRecord& rank = part.rank;
  parcel(part.deposited);
  parcel(part.complaints);
  parcel(rank.drops);
  parcel(rank.finished);
  parcel(rank.order);
  for (const std::uint64_t round : rank.order) pass(parcel, rank.rounds[round]);
  bool failed = rank.failure.has_value();
  parcel(failed);
  if (!failed) return;
  if (!rank.failure) rank.failure.emplace();
  parcel(rank.failure->code);
  parcel(rank.failure->message);
  parcel(rank.failure->at);
}

}  // namespace

std::vector<char> pack(Part& part) {
  Packer packer;
  pass(packer, part);
  return packer.take();
}

Part unpack(const std::vector<char>& bytes, int ranks) {
  Part part;
  Unpacker unpacker(bytes, ranks);
  pass(unpacker, part);
  return part;
}

}  // namespace syncopate::testing

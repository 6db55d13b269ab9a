#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "syncopate/error.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::c_api {

/// Vectors go in pieces of a few lengths, each with a collective of its own that is made when it is
/// first needed: so any number of lengths takes the memory of these.
constexpr std::array<std::size_t, 4> kPieceBytes = {1U << 10, 1U << 14, 1U << 18, 1U << 22};

/// The sum of one piece after the other.
class Pieces : private detail::PartialAllreduceBase {
 public:
  Pieces(const World& world, std::size_t elements, DataType type, Scale scale)
      : PartialAllreduceBase(world, elements, type, {.scale = scale}),
        scale_(scale),
        bytes_(elements * size_of(type)) {}

  Receipt run(std::byte* data, std::size_t bytes) {
    auto* slot = static_cast<std::byte*>(writable_slot());
    std::memcpy(slot, data, bytes);
    std::memset(slot + bytes, 0, bytes_ - bytes);
    exchange_slot(1);
    Piece piece(*shared_exchange(), ++number_);
    Receipt receipt = piece.receipt();
    std::memcpy(data, piece.values(scale_), bytes);
    piece.advance();
    return receipt;
  }

 private:
  struct Piece : private detail::RoundBase {
    Piece(detail::PartialExchange& exchange, std::uint64_t number) : RoundBase(exchange, number) {}
    const void* values(Scale scale) const {
      return scale == Scale::none ? sum_values().data : mean_values().data;
    }
    using RoundBase::advance;
    using RoundBase::receipt;
  };

  Scale scale_;
  std::size_t bytes_;
  std::uint64_t number_ = 0;
};

}  // namespace syncopate::c_api

using namespace syncopate;
using namespace syncopate::c_api;

struct syncopate_sum {
  Pieces& pieces(std::size_t length) {
    std::unique_ptr<Pieces>& made = made_by_length[length];
    if (made == nullptr) {
      made = std::make_unique<Pieces>(world, kPieceBytes[length] / size_of(type), type, scale);
    }
    return *made;
  }

  Receipt run(std::byte* data, std::size_t bytes) {
    // The shortest pieces into which all of it fits, or else the longest.
    const auto fits = std::ranges::lower_bound(kPieceBytes, bytes);
    const std::size_t length =
        std::min<std::size_t>(fits - kPieceBytes.begin(), kPieceBytes.size() - 1);
    Pieces& used = pieces(length);
    std::optional<Receipt> all;
    for (std::size_t done = 0; done < bytes || !all; done += kPieceBytes[length]) {
      const std::size_t rest = std::min(bytes - done, kPieceBytes[length]);
      const Receipt receipt = used.run(data + done, rest);
      if (!all) {
        all = receipt;
        continue;
      }
      all->waited += receipt.waited;
      if (receipt.contributors.size() < all->contributors.size()) {
        all->contributors = receipt.contributors;
      }
    }
    return *all;
  }

  World world;
  DataType type;
  Scale scale;
  std::array<std::unique_ptr<Pieces>, kPieceBytes.size()> made_by_length = {};
};

syncopate_status syncopate_sum_new(syncopate_world* world, syncopate_type type,
                                   syncopate_scale scale, syncopate_sum** sum) {
  return guarded([&] {
    expect(world, "world");
    expect(sum, "sum");
    const Scale plain = scale_of(scale);
    if (plain == Scale::weight) {
      throw Error(ErrorCode::invalid_argument, "a sum that is scaled by weight",
                  "Scale it by none, ranks or contributors");
    }
    *sum = new syncopate_sum{world->world, type_of(type), plain};
  });
}

void syncopate_sum_free(syncopate_sum* sum) { delete sum; }

syncopate_status syncopate_sum_run(syncopate_sum* sum, void* data, std::size_t elements,
                                   syncopate_receipt* receipt) {
  return guarded([&] {
    expect(sum, "sum");
    if (elements > 0) expect(data, "data");
    const Receipt told = sum->run(static_cast<std::byte*>(data), elements * size_of(sum->type));
    if (receipt != nullptr) *receipt = to_c(told);
  });
}

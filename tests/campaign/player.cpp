#include "campaign/player.h"

#include "campaign/group_player.h"
#include "campaign/partial_player.h"
#include "round/trigger.h"

namespace syncopate::campaign {
namespace {

template <typename T>
std::unique_ptr<Player> make_typed(Notes& notes, const World& world, int index,
                                   const Collective& collective, Random& random) {
  switch (collective.kind) {
    case Collective::Kind::partial:
      return std::make_unique<PartialPlayer<T, PartialAllreduce<T>>>(notes, world, index,
                                                                     collective, random);
    case Collective::Kind::allreduce:
      return std::make_unique<PartialPlayer<T, Allreduce<T>>>(notes, world, index, collective,
                                                              random);
    case Collective::Kind::group:
      break;
  }
  if constexpr (sizeof(T) >= sizeof(float)) {
    return std::make_unique<GroupPlayer<T>>(notes, world, index, collective);
  }
  throw std::logic_error("no group average of sixteen bits is drawn");
}

}  // namespace

double word_of(int rank, std::uint32_t number, DataType type) {
  const bool few_bits = type == DataType::bfloat16 || type == DataType::float16;
  return double(1 + round::mix(std::uint64_t(rank) + 1, number) % (few_bits ? 3 : 31));
}

std::unique_ptr<Player> make_player(Notes& notes, const World& world, int index,
                                    const Collective& collective, Random& random) {
  switch (collective.type) {
    case DataType::float32:
      return make_typed<float>(notes, world, index, collective, random);
    case DataType::float64:
      return make_typed<double>(notes, world, index, collective, random);
    case DataType::bfloat16:
      return make_typed<bfloat16>(notes, world, index, collective, random);
    case DataType::float16:
      return make_typed<float16>(notes, world, index, collective, random);
  }
  throw std::logic_error("no such type");
}

}  // namespace syncopate::campaign

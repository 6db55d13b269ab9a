#include <cmath>
#include <string>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "syncopate/error.h"

namespace syncopate::c_api {

DataType type_of(syncopate_type type) {
  if (type >= SYNCOPATE_FLOAT32 && type <= SYNCOPATE_FLOAT16) return DataType(type);
  throw Error(ErrorCode::invalid_argument, "there is no type " + std::to_string(int(type)),
              "Use one of syncopate_type");
}

Scale scale_of(syncopate_scale scale) {
  if (scale >= SYNCOPATE_SCALE_NONE && scale <= SYNCOPATE_SCALE_WEIGHT) return Scale(scale);
  throw Error(ErrorCode::invalid_argument, "there is no scale " + std::to_string(int(scale)),
              "Use one of syncopate_scale");
}

void write_bytes(const RankSet& set, int ranks, std::uint8_t* bytes) {
  for (int rank = 0; rank < ranks; ++rank) bytes[rank] = set.contains(rank) ? 1 : 0;
}

syncopate_receipt to_c(const Receipt& receipt) {
  return {.round = receipt.round,
          .staleness = receipt.staleness,
          .drops = receipt.drops,
          .weight = receipt.weight,
          .waited = seconds(receipt.waited),
          .waited_for = receipt.waited_for,
          .contributors = receipt.contributors.size(),
          .included = receipt.included,
          .last = receipt.last};
}

}  // namespace syncopate::c_api

using namespace syncopate;
using namespace syncopate::c_api;

syncopate_status syncopate_world_from_environment(syncopate_world** world) {
  return guarded([&] {
    expect(world, "world");
    *world = new syncopate_world{World::from_environment()};
  });
}

void syncopate_world_free(syncopate_world* world) { delete world; }

syncopate_status syncopate_world_place(const syncopate_world* world, syncopate_place* place) {
  return guarded([&] {
    expect(world, "world");
    expect(place, "place");
    const World& here = world->world;
    *place = {.rank = here.rank(),
              .size = here.size(),
              .local_rank = here.local_rank(),
              .local_size = here.local_size(),
              .machine = here.machine(),
              .machines = here.machines(),
              .cores = here.cores()};
  });
}

syncopate_status syncopate_world_dead(const syncopate_world* world, std::uint8_t* dead) {
  return guarded([&] {
    expect(world, "world");
    expect(dead, "dead");
    write_bytes(world->world.dead(), world->world.size(), dead);
  });
}

double syncopate_world_timeout(const syncopate_world* world) {
  return world == nullptr ? 0 : seconds(world->world.timeout());
}

syncopate_status syncopate_world_set_timeout(syncopate_world* world, double timeout) {
  return guarded([&] {
    expect(world, "world");
    constexpr double kLongest = 1e9;  // Seconds that fit into a Duration.
    if (!(timeout > 0 && timeout <= kLongest)) {
      throw Error(ErrorCode::invalid_argument, "the timeout is not between 0 and 1e9 seconds",
                  "Give the longest time that a wait may take, in seconds");
    }
    world->world.set_timeout(from_seconds(timeout));
  });
}

syncopate_status syncopate_barrier(syncopate_world* world) {
  return guarded([&] {
    expect(world, "world");
    world->world.barrier();
  });
}

syncopate_status syncopate_broadcast(syncopate_world* world, void* data, std::size_t bytes,
                                     int root) {
  return guarded([&] {
    expect(world, "world");
    world->world.broadcast(std::span(static_cast<std::byte*>(data), bytes), root);
  });
}

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "syncopate/group_average.h"

using namespace syncopate;
using namespace syncopate::c_api;

struct syncopate_group : private detail::GroupAverageBase {
  syncopate_group(const World& world, std::size_t elements, DataType type, const void* initial,
                  const GroupOptions& options)
      : GroupAverageBase(world, elements, type, initial, options) {}

  using GroupAverageBase::average_values;
  using GroupAverageBase::leave;
  using GroupAverageBase::size;
};

syncopate_status syncopate_group_new(syncopate_world* world, const void* initial,
                                     std::size_t elements, syncopate_type type,
                                     const syncopate_group_options* options,
                                     syncopate_group** group) {
  return guarded([&] {
    expect(world, "world");
    expect(initial, "initial");
    expect(options, "options");
    expect(group, "group");
    const GroupOptions made{
        .group_size = options->group_size,
        .synchronize_every = options->synchronize_every,
        .rotate = options->rotate != 0,
        .trigger = options->wait_for_all != 0 ? all() : first(),
        .grace = Grace::parse(options->grace != nullptr ? options->grace : "off"),
        .late = options->keep_late != 0 ? LateMerge::keep : LateMerge::average,
        .seed = options->seed};
    *group = new syncopate_group(world->world, elements, type_of(type), initial, made);
  });
}

void syncopate_group_free(syncopate_group* group) { delete group; }

syncopate_status syncopate_group_average(syncopate_group* group, void* values,
                                         syncopate_receipt* receipt) {
  return guarded([&] {
    expect(group, "group");
    expect(values, "values");
    const GroupReceipt told = group->average_values(values, group->size());
    if (receipt == nullptr) return;
    *receipt = {.round = told.step,
                .staleness = told.staleness,
                .weight = double(told.members.size()),
                .waited = seconds(told.waited),
                .waited_for = told.waited_for,
                .contributors = told.members.size(),
                .included = told.included,
                .last = told.everyone};
  });
}

syncopate_status syncopate_group_leave(syncopate_group* group) {
  return guarded([&] {
    expect(group, "group");
    group->leave();
  });
}

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "syncopate/error.h"
#include "syncopate/partial_allreduce.h"

using namespace syncopate;
using namespace syncopate::c_api;

namespace {

/// One round, as a handle reads it.
class ReadRound : private detail::RoundBase {
 public:
  ReadRound(detail::PartialExchange& exchange, std::uint64_t number)
      : RoundBase(exchange, number) {}
  const void* values(Scale scale) const {
    return scale == Scale::none ? sum_values().data : mean_values().data;
  }
  using RoundBase::advance;
  using RoundBase::receipt;
};

}  // namespace

struct syncopate_partial : private detail::PartialAllreduceBase {
  syncopate_partial(const World& world, std::size_t elements, DataType type,
                    const PartialOptions& options)
      : PartialAllreduceBase(world, elements, type, options),
        ranks(world.size()),
        scale(options.scale) {}

  /// The oldest round that is not passed.
  ReadRound next() {
    if (rounds > 0) return {*shared_exchange(), passed + 1};
    throw Error(ErrorCode::invalid_argument, "there is no round to read",
                "Read as many as an exchange or a wait has returned");
  }
  void pass() {
    next().advance();
    ++passed;
    --rounds;
  }
  void take(std::uint64_t count, std::uint64_t* returned) {
    rounds = count;
    *returned = count;
  }

  using PartialAllreduceBase::await_rounds;
  using PartialAllreduceBase::exchange_slot;
  using PartialAllreduceBase::exchange_values;
  using PartialAllreduceBase::finished;
  using PartialAllreduceBase::leave;
  using PartialAllreduceBase::ready;
  using PartialAllreduceBase::size;
  using PartialAllreduceBase::start_empty;
  using PartialAllreduceBase::start_slot;
  using PartialAllreduceBase::stop;
  using PartialAllreduceBase::writable_slot;

  int ranks;
  Scale scale;
  std::uint64_t passed = 0;
  std::uint64_t rounds = 0;  ///< That are there to read.
};

namespace {

/// Calls `body` with what stands behind the handle.
template <typename Body>
syncopate_status with(syncopate_partial* partial, const Body& body) {
  return guarded([&] {
    expect(partial, "partial");
    body(*partial);
  });
}

}  // namespace

syncopate_status syncopate_partial_new(syncopate_world* world, std::size_t elements,
                                       syncopate_type type,
                                       const syncopate_partial_options* options,
                                       syncopate_partial** partial) {
  return guarded([&] {
    expect(world, "world");
    expect(options, "options");
    expect(partial, "partial");
    const auto text = [](const char* given, const char* standard) {
      return given != nullptr ? given : standard;
    };
    const PartialOptions made{.trigger = Trigger::parse(text(options->trigger, "all")),
                              .late = LatePolicy::parse(text(options->late, "carry")),
                              .grace = Grace::parse(text(options->grace, "off")),
                              .scale = scale_of(options->scale),
                              .window = options->window};
    *partial = new syncopate_partial(world->world, elements, type_of(type), made);
  });
}

void syncopate_partial_free(syncopate_partial* partial) { delete partial; }

syncopate_status syncopate_partial_slot(syncopate_partial* partial, void** slot) {
  return with(partial, [&](auto& handle) { *slot = handle.writable_slot(); });
}
syncopate_status syncopate_partial_exchange(syncopate_partial* partial, double weight,
                                            std::uint64_t* rounds) {
  return with(partial, [&](auto& handle) { handle.take(handle.exchange_slot(weight), rounds); });
}
syncopate_status syncopate_partial_wait(syncopate_partial* partial, std::uint64_t* rounds) {
  return with(partial, [&](auto& handle) { handle.take(handle.await_rounds(), rounds); });
}
syncopate_status syncopate_partial_start(syncopate_partial* partial, double weight) {
  return with(partial, [&](auto& handle) { handle.start_slot(weight); });
}
syncopate_status syncopate_partial_start_empty(syncopate_partial* partial) {
  return with(partial, [&](auto& handle) { handle.start_empty(); });
}
syncopate_status syncopate_partial_ready(syncopate_partial* partial, int* ready) {
  return with(partial, [&](auto& handle) { *ready = handle.ready(); });
}
syncopate_status syncopate_partial_read(syncopate_partial* partial, const void** values,
                                        syncopate_receipt* receipt, std::uint8_t* contributors) {
  return with(partial, [&](auto& handle) {
    const ReadRound round = handle.next();
    const Receipt told = round.receipt();
    *values = round.values(handle.scale);
    if (receipt != nullptr) *receipt = to_c(told);
    if (contributors != nullptr) write_bytes(told.contributors, handle.ranks, contributors);
  });
}
syncopate_status syncopate_partial_pass(syncopate_partial* partial) {
  return with(partial, [](auto& handle) { handle.pass(); });
}
syncopate_status syncopate_partial_stop(syncopate_partial* partial) {
  return with(partial, [](auto& handle) { handle.stop(); });
}
syncopate_status syncopate_partial_finished(syncopate_partial* partial, int* finished) {
  return with(partial, [&](auto& handle) { *finished = handle.finished(); });
}
syncopate_status syncopate_partial_leave(syncopate_partial* partial) {
  return with(partial, [](auto& handle) { handle.leave(); });
}

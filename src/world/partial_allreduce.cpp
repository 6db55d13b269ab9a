// The functions behind the typed handles of partial_allreduce.h.
#include "syncopate/partial_allreduce.h"

#include "base/options.h"
#include "partial/exchange.h"
#include "syncopate/error.h"
#include "world/access.h"
#include "world/world_state.h"

namespace syncopate::detail {

std::shared_ptr<PartialExchange> make_partial(const World& world, std::size_t elements,
                                              DataType type, const PartialOptions& options) {
  const std::shared_ptr<WorldState>& state = WorldAccess::state(world);
  check(type);
  check(options, world.size());
  check_elements(elements);
  const partial::Shape shape = partial::Shape::of(elements, type, state->roster(), options);
  const CollectiveSpec spec{.kind = CollectiveSpec::Kind::partial,
                            .type = type,
                            .elements = elements,
                            .partial = options};
  auto region = state->make_region(describe(elements, type, options), spec, shape.bytes(),
                                   shape.smallest_bytes());
  std::byte* memory = region->data();
  return std::make_shared<PartialExchange>(
      state->roster(), state->platform(), state->timeout(), memory, shape, options,
      std::make_shared<Kept>(state, std::move(region)), state->agent_handle());
}

void* writable_slot(PartialExchange& exchange) { return exchange.writable_slot(); }
void deposit_slot(PartialExchange& exchange, double weight, Then then) {
  exchange.deposit_slot(weight, then);
}
void deposit(PartialExchange& exchange, const void* values, std::size_t elements, double weight,
             Then then) {
  exchange.deposit(values, elements, weight, then);
}
void deposit_nothing(PartialExchange& exchange, Then then) { exchange.deposit_nothing(then); }
bool round_ready(PartialExchange& exchange) { return exchange.ready(); }
std::uint64_t await_rounds(PartialExchange& exchange) { return exchange.await(); }
const void* round_values(const PartialExchange& exchange, std::uint64_t round) {
  return exchange.values(round);
}
Receipt round_receipt(const PartialExchange& exchange, std::uint64_t round) {
  return exchange.receipt(round);
}
std::uint64_t rounds_passed(const PartialExchange& exchange) { return exchange.passed(); }
void pass_through(PartialExchange& exchange, std::uint64_t round) { exchange.pass(round); }
void read_round(PartialExchange& exchange, std::uint64_t round) { exchange.read(round); }
void stop_reading(PartialExchange& exchange, std::uint64_t round, bool used) noexcept {
  exchange.stop_reading(round, used);
}
void stop(PartialExchange& exchange) { exchange.stop(); }
bool finished(const PartialExchange& exchange) { return exchange.finished(); }
void leave(PartialExchange& exchange) { exchange.leave(); }
Scale scale_of(const PartialExchange& exchange) { return exchange.options().scale; }
std::size_t elements_of(const PartialExchange& exchange) { return exchange.board().shape.elements; }
std::uint64_t deposits_dropped(const PartialExchange& exchange) {
  return exchange.board().deposits.dropped();
}
std::uint64_t drops_unreported(const PartialExchange& exchange) {
  return exchange.board().deposits.unreported();
}
void report_drops(PartialExchange& exchange, std::uint64_t drops) {
  exchange.board().deposits.report(drops);
}
void keep_deposits(PartialExchange& exchange) { exchange.keep_deposits(); }
std::optional<double> copy_carried(const PartialExchange& exchange, void* into) {
  return exchange.copy_carried(into);
}
void restore(PartialExchange& exchange, const void* sum, std::size_t elements, double weight) {
  exchange.restore(sum, elements, weight);
}

void wrong_accessor(Scale scale) {
  if (scale == Scale::none) {
    throw Error(ErrorCode::invalid_argument, "mean() of a round that is not scaled",
                "Use sum(), or choose a scale in the options");
  }
  throw Error(ErrorCode::invalid_argument,
              std::string("sum() of a round that is scaled by ") + to_string(scale),
              "Use mean(), or choose Scale::none in the options");
}

}  // namespace syncopate::detail

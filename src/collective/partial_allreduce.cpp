// The functions behind the typed handles of partial_allreduce.h.
#include "syncopate/partial_allreduce.h"

#include "collective/options.h"
#include "collective/partial_exchange.h"
#include "collective/world_state.h"
#include "syncopate/error.h"

namespace syncopate::detail {

std::shared_ptr<PartialExchange> make_partial(const World& world, std::size_t elements,
                                              DataType type, const PartialOptions& options) {
  const std::shared_ptr<WorldState>& state = world.shared_state();
  check(options, world.size());
  check_elements(elements);
  const board::PartialShape shape =
      PartialExchange::shape(elements, type, state->roster(), options);
  const Order order{
      .kind = Order::Kind::partial, .type = type, .elements = elements, .partial = options};
  auto region = state->make_region(describe(elements, type, options), order, shape.bytes(),
                                   shape.smallest_bytes());
  std::byte* memory = region->data();
  return std::make_shared<PartialExchange>(
      state->roster(), state->host(), state->timeout(), memory, elements, type, options,
      std::make_shared<Kept>(state, std::move(region)), state->liaison());
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
std::uint64_t rounds_seen(const PartialExchange& exchange) { return exchange.seen(); }
void release_through(PartialExchange& exchange, std::uint64_t round) {
  exchange.release_through(round);
}
void stop(PartialExchange& exchange) { exchange.stop(); }
bool finished(const PartialExchange& exchange) { return exchange.finished(); }
void leave(PartialExchange& exchange) { exchange.leave(); }
Scale scale_of(const PartialExchange& exchange) { return exchange.options().scale; }
std::size_t elements_of(const PartialExchange& exchange) { return exchange.elements(); }
std::uint64_t deposits_dropped(const PartialExchange& exchange) { return exchange.dropped(); }
std::uint64_t drops_unreported(const PartialExchange& exchange) { return exchange.unreported(); }
void report_drops(PartialExchange& exchange, std::uint64_t drops) { exchange.report(drops); }
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

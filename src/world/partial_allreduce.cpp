#include "syncopate/partial_allreduce.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/options.h"
#include "partial/exchange.h"
#include "syncopate/error.h"
#include "world/access.h"
#include "world/make_collective.h"
#include "world/world_state.h"

namespace syncopate::detail {

std::shared_ptr<PartialExchange> make_partial(const World& world, std::size_t elements,
                                              DataType type, const PartialOptions& options) {
  const std::shared_ptr<WorldState>& state = WorldAccess::state(world);
  base::check(type);
  base::check(options, world.size());
  base::check_elements(elements);
  const partial::Shape shape = partial::Shape::of(elements, type, state->roster(), options);
  const world::CollectiveSpec spec{.kind = world::CollectiveSpec::Kind::partial,
                                   .type = type,
                                   .elements = elements,
                                   .partial = options};
  auto region = state->make_region(base::describe(elements, type, options), spec, shape.bytes(),
                                   shape.smallest_bytes());
  std::byte* memory = region->data();
  return std::make_shared<PartialExchange>(
      state->roster(), state->platform(), state->timeout(), memory, shape, options,
      std::make_shared<Kept>(state, std::move(region)), state->agent_handle());
}

namespace {

[[noreturn]] void refuse_accessor(Scale scale) {
  if (scale == Scale::none) {
    throw Error(ErrorCode::invalid_argument, "mean() of a round that is not scaled",
                "Use sum(), or choose a scale in the options");
  }
  throw Error(ErrorCode::invalid_argument,
              std::string("sum() of a round that is scaled by ") + to_string(scale),
              "Use mean(), or choose Scale::none in the options");
}

}  // namespace

RoundBase::Values RoundBase::values() const {
  return {exchange_->reader().values(number_), exchange_->board().shape.elements};
}

RoundBase::Values RoundBase::mean_values() const {
  const Scale scale = exchange_->board().shape.scale;
  if (scale == Scale::none) refuse_accessor(scale);
  return values();
}

RoundBase::Values RoundBase::sum_values() const {
  const Scale scale = exchange_->board().shape.scale;
  if (scale != Scale::none) refuse_accessor(scale);
  return values();
}

Receipt RoundBase::receipt() const { return exchange_->reader().receipt(number_); }

void RoundBase::advance() {
  exchange_->reader().pass(number_);
  ++number_;
}

RoundsBase::RoundsBase(std::shared_ptr<PartialExchange> exchange, std::uint64_t count)
    : exchange_(std::move(exchange)),
      first_(exchange_->reader().passed() + 1),
      last_(first_ + count - 1) {}

RoundsBase::~RoundsBase() {
  // A step that throws has not used the round.
  const bool used = std::uncaught_exceptions() <= exceptions_;
  if (exchange_) exchange_->reader().stop_reading(first_, used);
}

std::uint64_t RoundsBase::first_not_passed() const {
  return std::max(first_, exchange_->reader().passed() + 1);
}
void RoundsBase::read_first() const { exchange_->reader().read(first_); }
void RoundsBase::pass() const { exchange_->reader().pass(last_); }

using Base = PartialAllreduceBase;

Base::PartialAllreduceBase(const World& world, std::size_t elements, DataType type,
                           const PartialOptions& options)
    : exchange_(make_partial(world, elements, type, options)) {}

void* Base::writable_slot() { return exchange_->writable_slot(); }
void Base::start_slot(double weight) { exchange_->deposit_slot(weight, Then::go_on); }
void Base::start_values(const void* values, std::size_t elements, double weight) {
  exchange_->deposit(values, elements, weight, Then::go_on);
}
void Base::start_empty() { exchange_->deposit_nothing(Then::go_on); }
std::uint64_t Base::exchange_slot(double weight) {
  exchange_->deposit_slot(weight, Then::wait);
  return exchange_->await();
}
std::uint64_t Base::exchange_values(const void* values, std::size_t elements, double weight) {
  exchange_->deposit(values, elements, weight, Then::wait);
  return exchange_->await();
}
std::uint64_t Base::await_rounds() { return exchange_->await(); }
bool Base::ready() { return exchange_->ready(); }
void Base::stop() { exchange_->stop(); }
bool Base::finished() const { return exchange_->reader().finished(); }
void Base::leave() { exchange_->leave(); }
void Base::keep_deposits() { exchange_->keep_deposits(); }
std::optional<double> Base::copy_carried(void* into) const { return exchange_->copy_carried(into); }
void Base::restore_sum(const void* sum, std::size_t elements, double weight) {
  exchange_->restore(sum, elements, weight);
}
std::uint64_t Base::unreported() const { return exchange_->board().deposits.unreported(); }
void Base::report(std::uint64_t drops) { exchange_->board().deposits.report(drops); }
std::uint64_t Base::dropped() const { return exchange_->board().deposits.dropped(); }
std::size_t Base::size() const { return exchange_->board().shape.elements; }

}  // namespace syncopate::detail

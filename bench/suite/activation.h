// Our side of bench/peers/activation.h: rounds that start with the first arrival, in a world of
// several machines. The other ranks wait for the round, or no rank of their machine waits or looks,
// and its agent is on its own: they are asleep, or they compute.
#pragma once

#include <memory>

#include "bench/peers/activation.h"
#include "bench/suite/ours.h"
#include "board/platform.h"
#include "partial/exchange.h"
#include "world/make_collective.h"

namespace syncopate::cli::bench {

class OurActivation : public Ours {
 public:
  OurActivation(World world, const peers::Workload& work)
      : Ours(std::move(world)), others_(work.others), platform_(board::make_thread_platform()) {}

  void open(std::size_t elements) {
    exchange_ = detail::make_partial(world_, elements, data_type<float>,
                                     PartialOptions{.trigger = first(), .scale = Scale::none});
  }
  float* buffer() { return static_cast<float*>(exchange_->writable_slot()); }

  peers::Clock::time_point meet(bool arrives) {
    if (arrives) exchange_->deposit_slot(1, detail::Then::wait);
    const bool waits = arrives || others_ == peers::Others::wait;
    if (!waits) watch();
    auto there = peers::Clock::now();
    exchange_->await();
    if (waits) there = peers::Clock::now();
    const std::uint64_t round = exchange_->reader().passed() + 1;
    peers::check_ones({static_cast<const float*>(exchange_->reader().values(round)),
                       exchange_->board().shape.elements});
    exchange_->reader().pass(round);
    // Where all compute, it is chance which of them has a core to look for the round.
    return waits || others_ != peers::Others::compute ? there : peers::Clock::time_point();
  }

  /// When the agent of this machine took part in the last round.
  peers::Clock::time_point taken_part() const {
    return peers::Clock::time_point(
        std::chrono::nanoseconds(exchange_->board().memory.control->taken_at.load_relaxed()));
  }

  nlohmann::json close() {
    exchange_->stop();
    while (!exchange_->reader().finished()) {
      const std::uint64_t count = exchange_->await();
      exchange_->reader().pass(exchange_->reader().passed() + count);
    }
    exchange_.reset();
    return {{"contributors_mean", 1}};
  }

 private:
  /// Sleeps or computes until a round is on the board. PartialAllreduce::ready() is no way to find
  /// out: it says that a rank waits and wakes the agent, which is what is to be measured.
  void watch() {
    constexpr board::Time kSecond = 1'000'000'000;
    partial::Board& board = exchange_->board();
    for (;;) {
      const std::uint64_t news = board.event().read();
      if (board.results.published() > board.window.seen()) return;
      if (others_ == peers::Others::compute) {
        compute();
      } else {
        board.event().sleep(*platform_, news, platform_->now() + kSecond);
      }
    }
  }

  /// For some microseconds.
  void compute() {
    constexpr int kSteps = 1000;
    for (int i = 0; i < kSteps; ++i) number_ = number_ * 1.0000001 + 1e-9;
  }

  peers::Others others_;
  volatile double number_ = 1;
  std::unique_ptr<board::Platform> platform_;
  std::shared_ptr<detail::PartialExchange> exchange_;
};

}  // namespace syncopate::cli::bench

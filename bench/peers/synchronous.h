// What is common to the sides whose collective waits for everyone: a private buffer that is
// summed in place, and results that hold exactly this iteration's values of all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure.h"

namespace peers {

/// Reads the workload that `syncopate bench` hands over.
inline Workload read_workload(const char* text) {
  return nlohmann::json::parse(text).get<Workload>();
}

/// `Library` sums a buffer of floats in place with sum_in_place(), and knows its place.
template <typename Library>
class Synchronous : public Library {
 public:
  template <typename... Arguments>
  explicit Synchronous(const Workload& work, Arguments&&... arguments)
      : Library(std::forward<Arguments>(arguments)...), average_(work.average) {}

  void open(std::size_t elements) {
    buffer_.assign(elements, 0);
    rounds_ = 0;
    Library::prepare(std::span<float>(buffer_));
  }
  float* buffer() { return buffer_.data(); }

  template <typename Consume>
  void exchange(const Consume& consume) {
    Library::sum_in_place(std::span<float>(buffer_));
    ++rounds_;
    if (average_) {
      const float share = 1.0F / float(Library::ranks());
      for (float& value : buffer_) value *= share;
    }
    consume(std::span<const float>(buffer_));
  }

  /// For activation.h: everyone waits for the one that arrives last.
  Clock::time_point meet(bool) {
    Clock::time_point there;
    exchange([&](std::span<const float> result) {
      there = Clock::now();
      check_ones(result);
    });
    return there;
  }

  void expect(std::span<const float> result, std::size_t iteration) const {
    const auto total = float(Library::ranks());
    const float marked = average_ ? total * (1.0F / total) : total;
    for (const std::size_t i : {std::size_t{0}, result.size() - 1}) {
      const float expected = i % 2 == iteration % 2 ? marked : 0;
      if (result[i] != expected) wrong_result(i, result[i], std::to_string(expected));
    }
  }

  bool others_done(std::size_t step, std::size_t planned) const { return step == planned; }
  std::size_t rounds() const { return rounds_; }
  nlohmann::json close() { return {{"contributors_mean", Library::ranks()}}; }

 private:
  bool average_;
  std::vector<float> buffer_;
  std::size_t rounds_ = 0;
};

}  // namespace peers

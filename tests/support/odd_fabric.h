// A fabric of a machine that says odd things: what it sends of its own accord is left alone, and a
// test adds messages, or changes what the machine brings to gatherings.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace syncopate::testing {

class Oddity {
 public:
  using Bytes = std::vector<std::byte>;
  /// Changes what the machine brings to a gathering, if it wants to.
  using Change = std::function<void(std::span<std::byte>)>;

  /// The message goes when the agent of the machine next looks for some.
  void say(int to, Bytes message) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(to, std::move(message));
  }
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }

  std::vector<std::pair<int, Bytes>> take_messages() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }
  void touch(std::span<std::byte> brought) {
    const std::lock_guard lock(mutex_);
    if (change_) change_(brought);
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<int, Bytes>> messages_;
  Change change_;
};

std::unique_ptr<fabric::Fabric> odd(std::unique_ptr<fabric::Fabric> fabric, Oddity& oddity);

}  // namespace syncopate::testing

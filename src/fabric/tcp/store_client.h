// A rank's side of the rendezvous: asks rank 0, at which it calls until it is there.
#pragma once

#include <optional>
#include <string>

#include "fabric/tcp/shake.h"
#include "fabric/tcp/store.h"
#include "fabric/tcp/store_words.h"

namespace syncopate::fabric::tcp {

class StoreClient final : public Rendezvous {
 public:
  explicit StoreClient(StorePlace place) : place_(std::move(place)) {}

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Duration timeout) override;

 private:
  void connect(Clock::time_point until);
  /// Whether rank 0 answered, and is of this job.
  bool call(Clock::time_point until);
  void say(const Words& words, Clock::time_point until);
  /// Nothing if the connection broke, or time is up.
  std::optional<Words> try_to_hear(Clock::time_point until);
  [[noreturn]] void in_vain() const;
  [[noreturn]] void left_alone() const;
  std::string where() const { return place_.host + ":" + std::to_string(place_.port); }

  StorePlace place_;
  base::Descriptor socket_;
  TurnedAway turned_away_;
};

/// What both sides say first.
Hello hello_of(const StorePlace& place);

}  // namespace syncopate::fabric::tcp

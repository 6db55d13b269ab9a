// A strategy as a user writes it, name[:value…][:key=value…], read against its description.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "syncopate/policy.h"
#include "syncopate/strategy.h"

namespace syncopate::strategy {

/// What has a key can be left out where it is explained elsewhere.
enum class Keys { shown, left_out };
/// How the strategy is written: "wagma[:S][:TAU][:grace=…]".
std::string form(const StrategyDescription& description, Keys keys = Keys::shown);

/// The values of a strategy's parameters. What is out of range is refused by name, with what is
/// allowed.
class Values {
 public:
  /// Throws for a value too many, an unknown key, and for what must be given and is not.
  Values(const StrategyDescription& description, std::string_view text);

  /// The strategy with all its parameters, as it would be written.
  std::string spelled_out(const StrategyDescription& description) const;

  int whole(const std::string& name, int low, int high) const;
  /// 0 for "auto".
  int whole_or_auto(const std::string& name, int low, int high) const;
  double number(const std::string& name, double low, double high) const;
  /// Which of the names it is.
  std::size_t choice(const std::string& name, std::initializer_list<const char*> names) const;
  bool on(const std::string& name) const { return choice(name, {"on", "off"}) == 0; }
  /// "off", "auto", a share of the median step time such as 0.2, or a duration such as 2ms.
  Grace grace(const std::string& name) const;
  /// Nothing for "auto".
  std::optional<Duration> duration(const std::string& name) const;

 private:
  const std::string& text(const std::string& name) const { return values_.at(name); }
  [[noreturn]] void refuse(const std::string& name, const std::string& allowed) const;

  std::string strategy_;
  std::map<std::string, std::string> values_;
};

}  // namespace syncopate::strategy

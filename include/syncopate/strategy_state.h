// What a checkpoint keeps of a strategy: entries by name, each a number or a vector, that say how
// they are shared out when other ranks go on than those that saved them. A strategy describes its
// entries once (Strategy::describe); saving, checking and loading follow that one description.
//
//   void describe(StateFields& state) override {
//     state.count("steps", Sharing::same, steps_);
//     state.vector("velocity", Sharing::own, velocity_);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace syncopate {

/// How an entry is shared out among the ranks that go on.
enum class Sharing : std::uint8_t {
  same,     ///< The same on every rank.
  own,      ///< This rank's own; a rank that was not there starts without it.
  pending,  ///< Work under way: it adds up, and goes to one heir.
};

struct StateEntry {
  Sharing sharing = Sharing::same;
  std::variant<double, std::vector<float>> value;

  friend bool operator==(const StateEntry&, const StateEntry&) = default;
};

/// What one rank's strategy had when it was saved. It may come from a file: nothing in it is
/// trusted until a strategy has compared it with its description.
struct StrategyState {
  std::map<std::string, StateEntry> entries;
  /// Of a rank that was not there: only what is the same on every rank, and what it inherits.
  bool stand_in = false;

  bool has(const std::string& name) const { return entries.contains(name); }
  /// Throw Error(invalid_argument) if there is no such number or vector.
  double number(const std::string& name) const;
  const std::vector<float>& vector(const std::string& name) const;

  /// Makes what another rank had the beginning of one that was not there.
  void make_stand_in();
  /// Adds what another rank had pending. Throws Error(invalid_argument) if the two are not of one
  /// checkpoint; then this one is unharmed.
  void inherit(const StrategyState& other);
  /// Whether all numbers, and all pending work, are numbers that one can go on with.
  bool finite() const;

  friend bool operator==(const StrategyState&, const StrategyState&) = default;
};

/// What an entry may be, ends included; never NaN.
struct StateRange {
  double least = -std::numeric_limits<float>::max();
  double most = std::numeric_limits<float>::max();
};

/// The entries of a strategy, as it names them one after another. When a state is loaded they are
/// gone through twice: everything is compared with what is due before anything is changed.
class StateFields {
 public:
  /// Whole numbers up to here are kept exactly.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 53;

  /// Each of these saves the value, or reads it: unless loading() it stays as it is.
  /// Returns what the entry has, also before it is loaded.
  std::uint64_t count(const char* name, Sharing sharing, std::uint64_t& value,
                      std::uint64_t most = kMost);
  void number(const char* name, Sharing sharing, double& value, StateRange range);
  /// As long as `values` is.
  void vector(const char* name, Sharing sharing, std::span<float> values, StateRange range = {});
  /// A place for each rank, the same on all of them. Ranks of a world of another size keep what
  /// they have.
  void by_rank(const char* name, std::span<float> values, StateRange range);

  /// Whether there is an entry that not every state has; `now`: whether this strategy has it.
  bool has(const char* name, bool now) const;
  /// Whether values are being taken over. All of them have been checked.
  bool loading() const { return loads_; }
  bool saving() const { return saved_ != nullptr; }

 private:
  friend class Strategy;
  enum class Then : std::uint8_t { check, load };

  explicit StateFields(StrategyState& saved) : saved_(&saved), read_(saved) {}
  StateFields(const StrategyState& read, Then then) : read_(read), loads_(then == Then::load) {}
  void keep(const char* name, StateEntry entry);
  /// What the state has, once it is known to be of this type and sharing; null if a stand-in may do
  /// without.
  template <typename Value>
  const Value* find(const char* name, Sharing sharing);
  const std::vector<float>* find_vector(const char* name, Sharing sharing, StateRange range);
  /// Throws if the state has an entry that was not asked for.
  void expect_no_others() const;

  StrategyState* saved_ = nullptr;
  const StrategyState& read_;
  bool loads_ = false;
  std::set<std::string> named_;
};

}  // namespace syncopate

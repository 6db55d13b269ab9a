// JSON text that may be damaged or made up by others: of bounded depth, no name twice, and every
// value compared with what is due where it is read. What is wrong is thrown as Damaged.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace syncopate::train {

/// Deeper than any file of ours.
inline constexpr int kDeepest = 16;

nlohmann::json read_json(std::string_view text);

/// The members of an object. Each is asked for by name; what was not asked for is refused.
class Members {
 public:
  /// `what`: what the object is, in errors: "it", or "an evaluation".
  explicit Members(const nlohmann::json& object, std::string what = "it");

  bool has(const char* name) const { return object_.contains(name); }
  double number(const char* name, double least, double most);
  std::int64_t whole(const char* name, std::int64_t least, std::int64_t most);
  bool flag(const char* name);
  std::string text(const char* name);
  const nlohmann::json& list(const char* name);
  const nlohmann::json& object(const char* name);
  /// A number, or null, which stands for one that JSON cannot write.
  double number_or_null(const char* name, double least, double most);

  /// Throws if there is a member that was not asked for.
  void expect_no_others() const;

 private:
  const nlohmann::json& find(const char* name);
  [[noreturn]] void refuse(const char* name, const nlohmann::json& value,
                           const std::string& due) const;

  const nlohmann::json& object_;
  std::string what_;
  std::set<std::string> asked_;
};

}  // namespace syncopate::train

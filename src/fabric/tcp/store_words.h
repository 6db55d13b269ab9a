// What a rank and the keeper of a rendezvous say to each other: a head, then a key and a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace syncopate::fabric::tcp {

struct Words {
  enum class Kind : std::uint32_t {
    set,     ///< A key and its value.
    get,     ///< A key: to be answered …
    answer,  ///< … by this, with its value.
  };
  Kind kind = Kind::set;
  std::string key;
  std::string value;
};

inline constexpr std::size_t kLongestKey = 1 << 10;
inline constexpr std::size_t kLongestValue = 16 << 20;

struct WordsHead {
  std::uint32_t kind = 0;
  std::uint32_t key = 0;    ///< Bytes of it.
  std::uint32_t value = 0;  ///< The same.
};

inline std::string pack(const Words& words) {
  const WordsHead head{static_cast<std::uint32_t>(words.kind),
                       static_cast<std::uint32_t>(words.key.size()),
                       static_cast<std::uint32_t>(words.value.size())};
  std::string result(sizeof head, '\0');
  std::memcpy(result.data(), &head, sizeof head);
  return result + words.key + words.value;
}

/// Takes words apart as they come.
class WordsReader {
 public:
  /// How many bytes may come next, at most; they go to take().
  std::size_t wanted() const { return expected() - bytes_.size(); }
  /// False: what has come makes no sense, and nothing more is to be read.
  bool take(const char* bytes, std::size_t count) {
    bytes_.append(bytes, count);
    if (bytes_.size() < sizeof head_) return true;
    std::memcpy(&head_, bytes_.data(), sizeof head_);
    return head_.kind <= static_cast<std::uint32_t>(Words::Kind::answer) &&
           head_.key <= kLongestKey && head_.value <= kLongestValue;
  }
  /// The words that are whole now, once.
  std::optional<Words> next() {
    if (bytes_.size() < sizeof head_ || bytes_.size() < expected()) return std::nullopt;
    Words words{.kind = static_cast<Words::Kind>(head_.kind),
                .key = bytes_.substr(sizeof head_, head_.key),
                .value = bytes_.substr(sizeof head_ + head_.key)};
    bytes_.clear();
    return words;
  }

 private:
  std::size_t expected() const {
    if (bytes_.size() < sizeof head_) return sizeof head_;
    return sizeof head_ + head_.key + head_.value;
  }

  std::string bytes_;
  WordsHead head_{};
};

}  // namespace syncopate::fabric::tcp

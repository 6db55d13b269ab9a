#include "base/printable.h"

#include <cstddef>

namespace syncopate::base {
namespace {

/// Longer sentences are cut: what a file or a variable holds may be of any length.
constexpr std::size_t kLongest = 4096;

/// The bytes of the UTF-8 character that `text` begins with; 0 if there is none, or if it is a
/// control character.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // What could be written shorter, the control characters above ASCII, surrogates, and what lies
  // beyond Unicode.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xc2 && second < 0xa0) || (first == 0xe0 && second < 0xa0) ||
                     (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                     (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (result.size() >= kLongest) return result + "…";
    const std::size_t length = character_at(text);
    if (length > 0) {
      result.append(text.substr(0, length));
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      result.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_at(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace syncopate::base

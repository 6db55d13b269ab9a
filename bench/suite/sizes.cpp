#include "bench/suite/sizes.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "cli/console/arguments.h"

namespace syncopate::cli::bench {

namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 30;
constexpr std::size_t kDefaultFactor = 8;
constexpr std::string_view kUnits = "KMG";

std::optional<std::size_t> parse_size(std::string_view text) {
  const auto read = base::leading_number<std::size_t>(text);
  if (!read || read->value > kMostBytes) return std::nullopt;
  if (read->rest.empty()) return read->value;
  const std::size_t unit = kUnits.find(read->rest.front());
  if (unit == std::string_view::npos || read->rest.size() != 1) return std::nullopt;
  const std::size_t shift = 10 * (unit + 1);
  if (read->value > kMostBytes >> shift) return std::nullopt;
  return read->value << shift;
}

/// One entry of the list: a size or a range of sizes. Empty if it cannot be read.
std::vector<std::size_t> parse_entry(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto size = parse_size(text);
    return size ? std::vector{*size} : std::vector<std::size_t>{};
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto low = parse_size(text.substr(0, dash));
  const auto high = parse_size(text.substr(dash + 1, colon - dash - 1));
  const auto factor = colon == text.size() ? kDefaultFactor : parse_size(text.substr(colon + 1));
  if (!low || !high || !factor || *low == 0 || *low > *high || *factor < 2) return {};
  std::vector<std::size_t> sizes;
  // Compared by division: a product may not fit into 64 bits.
  for (std::size_t size = *low; size < *high; size *= *factor) {
    sizes.push_back(size);
    if (size > *high / *factor) break;
  }
  sizes.push_back(*high);
  return sizes;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text,
                                     std::size_t least) {
  std::vector<std::size_t> sizes;
  for (const std::string& entry : split_list(text)) {
    const auto parsed = parse_entry(entry);
    if (parsed.empty()) {
      throw UsageError(fmt::format(
          "{} must be sizes such as 8,64K,1M or a range such as 64-4M (times 8) or 8-1M:2 "
          "(times 2), up to {}; '{}' is neither",
          option, format_size(kMostBytes), entry));
    }
    for (const std::size_t size : parsed) {
      if (size < least || size % sizeof(float) != 0) {
        throw UsageError(
            fmt::format("{} must be multiples of {} bytes (float32) from {} on, not {}", option,
                        sizeof(float), least, size));
      }
    }
    sizes.insert(sizes.end(), parsed.begin(), parsed.end());
  }
  return sizes;
}

std::string format_size(std::size_t bytes) {
  std::string unit;
  for (const char next : kUnits) {
    if (bytes < 1024 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return fmt::format("{}{}", bytes, unit);
}

}  // namespace syncopate::cli::bench

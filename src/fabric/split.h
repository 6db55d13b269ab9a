// SYNCOPATE_SPLIT makes several machines of one, for tests: "2" puts two ranks on each; "1,3,2" one
// rank on the first, three on the second, two on the third, one on the fourth, and so on. A header
// alone, as plug-ins link no libsyncopate.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace syncopate::fabric {

inline constexpr const char* kSplitVariable = "SYNCOPATE_SPLIT";

/// The sizes of the machines; empty if nothing is to be split. What makes no sense is thrown as
/// plug-ins throw (plugin.h).
inline std::vector<int> parse_split(const std::string& text) {
  std::vector<int> sizes;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const auto size = base::number<int>(item);
    const bool last = item.size() == rest.size();
    rest.remove_prefix(last ? item.size() : item.size() + 1);
    if (!size || *size < 1 || (rest.empty() && !last)) {
      throw std::runtime_error(
          std::string(kSplitVariable) + " is \"" + text +
          "\"\nSet it to how many ranks each machine is to have, from 1 on, for example 2 or "
          "1,3,2, or unset it");
    }
    sizes.push_back(*size);
  }
  return sizes;
}

/// Which of the parts of its host a rank is on, being so many-th there.
inline int part_of(int rank_on_host, const std::vector<int>& sizes) {
  int part = 0;
  for (int left = rank_on_host; left >= sizes[part % sizes.size()]; ++part) {
    left -= sizes[part % sizes.size()];
  }
  return part;
}

}  // namespace syncopate::fabric

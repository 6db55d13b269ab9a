#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/text.h"

namespace syncopate::base {
namespace {

constexpr std::uint64_t kNoLimit = ControlGroups::kNoLimit;

/// "max" and the like are no number, and no limit.
std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  return base::number<std::uint64_t>(text);
}

/// The number behind `name` in a file of names and numbers.
std::optional<std::uint64_t> read_entry(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  for (std::string key; file >> key >> value;) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::uint64_t left(std::uint64_t limit, std::uint64_t usage, std::uint64_t reclaimable) {
  const std::uint64_t used = usage - std::min(usage, reclaimable);
  return limit - std::min(limit, used);
}

std::uint64_t memory_left_v2(const std::string& folder) {
  const auto limit = read_number(folder + "/memory.max");
  const auto usage = read_number(folder + "/memory.current");
  if (!limit || !usage) return kNoLimit;
  return left(*limit, *usage, read_entry(folder + "/memory.stat", "inactive_file").value_or(0));
}

std::uint64_t memory_left_v1(const std::string& folder) {
  const auto limit = read_number(folder + "/memory.limit_in_bytes");
  const auto usage = read_number(folder + "/memory.usage_in_bytes");
  if (!limit || !usage) return kNoLimit;
  const std::string stat = folder + "/memory.stat";
  // The least of the groups above this one, too, of which a container does not always see all.
  const std::uint64_t above = read_entry(stat, "hierarchical_memory_limit").value_or(kNoLimit);
  return left(std::min(*limit, above), *usage, read_entry(stat, "total_inactive_file").value_or(0));
}

double cores_of(double quota, double period) {
  const bool limited = quota > 0 && period > 0;
  return limited ? quota / period : std::numeric_limits<double>::infinity();
}

double cores_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0;  // "max 100000" is none: reading fails, and the quota is 0.
  double period = 0;
  file >> quota >> period;
  return cores_of(quota, period);
}

double cores_v1(const std::string& folder) {
  double quota = 0;  // -1 is none.
  double period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return cores_of(quota, period);
}

bool has(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == wanted) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// Spaces and the like are written as three octal digits in mountinfo.
std::string unescape(std::string_view text) {
  const auto digit = [](char letter) { return letter >= '0' && letter <= '7'; };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && digit(text[i + 1]) && digit(text[i + 2]) &&
        digit(text[i + 3])) {
      result += static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
                                  (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// The part of the path `below` that comes after `above`, if it lies there: "/a/b" and "/a" are
/// "/b".
std::optional<std::string> part_below(const std::string& below, const std::string& above) {
  if (above == "/") return below == "/" ? "" : below;
  if (!below.starts_with(above)) return std::nullopt;
  const std::string rest = below.substr(above.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  return rest;
}

}  // namespace

/// A place where groups can be seen.
struct ControlGroups::Mount {
  Version version;
  std::string controllers;  ///< Of v1: "cpu,cpuacct", among other words.
  std::string top;          ///< The group that lies at `point`.
  std::string point;
};

/// A line of /proc/self/cgroup.
struct ControlGroups::Membership {
  std::string controllers;  ///< None: v2.
  std::string group;
};

std::vector<ControlGroups::Mount> ControlGroups::mounts(const std::string& root) {
  std::vector<Mount> result;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // number, parent, device, top, point, options, any number of others, "-", type, source, options
    std::istringstream words(line);
    std::string skipped, top, point, type, options;
    if (!(words >> skipped >> skipped >> skipped >> top >> point)) continue;
    while (words >> skipped && skipped != "-") {
    }
    if (!(words >> type >> skipped >> options)) continue;
    if (type != "cgroup" && type != "cgroup2") continue;
    result.push_back({.version = type == "cgroup2" ? Version::v2 : Version::v1,
                      .controllers = options,
                      .top = unescape(top),
                      .point = unescape(point)});
  }
  return result;
}

std::vector<ControlGroups::Membership> ControlGroups::memberships(const std::string& root) {
  std::vector<Membership> result;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // number:controllers:group, where a group's name may have colons
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    result.push_back({.controllers = line.substr(first + 1, second - first - 1),
                      .group = line.substr(second + 1)});
  }
  return result;
}

ControlGroups::ControlGroups(const std::string& root) {
  const std::vector<Mount> all = mounts(root);
  for (const Membership& membership : memberships(root)) {
    const bool limits = membership.controllers.empty() || has(membership.controllers, "memory") ||
                        has(membership.controllers, "cpu");
    if (!limits) continue;
    for (const Mount& mount : all) {
      const bool v2 = membership.controllers.empty();
      if (v2 != (mount.version == Version::v2)) continue;
      // Controllers of v1 that are mounted together are listed together, in any order.
      if (!v2 && !has(mount.controllers,
                      membership.controllers.substr(0, membership.controllers.find(',')))) {
        continue;
      }
      add(mount, membership, root);
    }
  }
}

void ControlGroups::add(const Mount& mount, const Membership& membership, const std::string& root) {
  // A group outside of what is mounted (of another namespace, or a container that shows its own
  // group as the only one) is not seen; the one at the top of the mount is then the best guess.
  std::string below = part_below(membership.group, mount.top).value_or("");
  if (below == "/.." || below.starts_with("/../")) below.clear();
  for (;;) {
    const std::string folder = root + mount.point + below;
    const bool known = std::any_of(groups_.begin(), groups_.end(),
                                   [&](const Group& group) { return group.folder == folder; });
    if (!known) groups_.push_back({.version = mount.version, .folder = folder});
    if (below.empty()) return;
    below.erase(below.rfind('/'));
  }
}

std::uint64_t ControlGroups::memory_left() const {
  std::uint64_t least = kNoLimit;
  for (const Group& group : groups_) {
    least = std::min(least, group.version == Version::v2 ? memory_left_v2(group.folder)
                                                         : memory_left_v1(group.folder));
  }
  return least;
}

double ControlGroups::cores() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Group& group : groups_) {
    least = std::min(
        least, group.version == Version::v2 ? cores_v2(group.folder) : cores_v1(group.folder));
  }
  return least;
}

std::vector<std::string> ControlGroups::folders() const {
  std::vector<std::string> result;
  for (const Group& group : groups_) result.push_back(group.folder);
  return result;
}

}  // namespace syncopate::base

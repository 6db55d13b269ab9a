// What the control groups (cgroups, v1 and v2) that this process is in allow it: memory and cores.
// A group's limit holds for all below it, so every group counts from the process's own up to the
// root, as far as this mount namespace shows them, and the least is what is allowed.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::base {

class ControlGroups {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  /// Finds the groups of this process; `root` is another folder than "/" for tests. What cannot be
  /// read limits nothing.
  explicit ControlGroups(const std::string& root = "");

  /// Bytes that can still be used before the kernel ends a process of a group. Memory that the
  /// kernel gives back on demand (file caches that are not in use) is not counted as used.
  std::uint64_t memory_left() const;
  /// How many cores the processes of the group may use at once; infinity: any number.
  double cores() const;

  /// The folders of the groups, own ones first, for messages and tests.
  std::vector<std::string> folders() const;

 private:
  enum class Version { v1, v2 };
  struct Group {
    Version version;
    std::string folder;
  };
  struct Mount;
  struct Membership;

  static std::vector<Mount> mounts(const std::string& root);
  static std::vector<Membership> memberships(const std::string& root);
  void add(const Mount& mount, const Membership& membership, const std::string& root);

  std::vector<Group> groups_;
};

}  // namespace syncopate::base

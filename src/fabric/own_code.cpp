#include "fabric/own_code.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "syncopate/error.h"

namespace syncopate::fabric {
namespace {

namespace fs = std::filesystem;

/// The file that a piece of code was mapped from. Not by dladdr(), whose answer for a program is
/// how it was called.
std::optional<fs::path> file_at(const void* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "begin-end rights offset device inode     /the/file"
    constexpr int kHexadecimal = 16;
    const auto begin = base::leading_number<std::uintptr_t>(line, kHexadecimal);
    if (!begin || begin->rest.empty()) continue;
    const auto end = base::leading_number<std::uintptr_t>(begin->rest.substr(1), kHexadecimal);
    if (!end || address < begin->value || address >= end->value) continue;
    const std::size_t name = line.find('/');
    if (name == std::string::npos) return std::nullopt;
    return line.substr(name);
  }
  return std::nullopt;
}

/// A file and the folders that it lies in, up to the root.
std::vector<fs::path> way_to(const fs::path& file) {
  std::vector<fs::path> way{file};
  while (way.back() != way.back().parent_path()) way.push_back(way.back().parent_path());
  return way;
}

bool group_writes(const struct stat& status) { return (status.st_mode & S_IWGRP) != 0; }

/// Whether a group is this user's alone, as many systems give one to each user.
bool is_own_group(gid_t group) {
  std::array<char, 4096> text{};
  passwd user{};
  passwd* found_user = nullptr;
  if (getpwuid_r(geteuid(), &user, text.data(), text.size(), &found_user) != 0 ||
      found_user == nullptr || user.pw_gid != group) {
    return false;
  }
  std::vector<char> names(64 << 10);
  ::group own{};
  ::group* found_group = nullptr;
  if (getgrgid_r(group, &own, names.data(), names.size(), &found_group) != 0 ||
      found_group == nullptr || std::string_view(own.gr_name) != user.pw_name) {
    return false;
  }
  for (char** member = own.gr_mem; *member != nullptr; ++member) {
    if (std::string_view(*member) != user.pw_name) return false;
  }
  return true;
}

/// Those who may change what this process runs.
struct Trusted {
  std::set<uid_t> users{0, geteuid()};
  std::set<gid_t> groups{0};

  /// Those who can change this already are trusted.
  void add(const fs::path& file) {
    for (const fs::path& step : way_to(file)) {
      struct stat status {};
      if (stat(step.c_str(), &status) != 0) continue;
      users.insert(status.st_uid);
      if (group_writes(status)) groups.insert(status.st_gid);
    }
  }
  bool has(gid_t group) const { return groups.contains(group) || is_own_group(group); }
};

/// Who else can change this, in words; empty if there is no such one. In a folder further up that
/// is sticky, as /tmp is, strangers can add files, but cannot touch those of others.
std::string stranger_at(const fs::path& step, const Trusted& trusted, bool sticky_is_enough) {
  struct stat status {};
  if (stat(step.c_str(), &status) != 0) return step.string() + " cannot be looked at";
  if (!trusted.users.contains(status.st_uid)) {
    return step.string() + " belongs to user " + std::to_string(status.st_uid);
  }
  if (sticky_is_enough && (status.st_mode & S_ISVTX) != 0) return {};
  if ((status.st_mode & S_IWOTH) != 0) return "all users can write to " + step.string();
  if (group_writes(status) && !trusted.has(status.st_gid)) {
    return "group " + std::to_string(status.st_gid) + " can write to " + step.string();
  }
  return {};
}

}  // namespace

std::vector<fs::path> own_files() {
  std::vector<fs::path> files;
  std::error_code error;
  if (const auto library = file_at(reinterpret_cast<const void*>(&own_files))) {
    const fs::path file = fs::canonical(*library, error);
    if (!error) files.push_back(file);
  }
  const fs::path program = fs::canonical("/proc/self/exe", error);
  if (!error && (files.empty() || files.front() != program)) files.push_back(program);
  return files;
}

std::optional<fs::path> code_folder_from_environment(const char* variable) {
  const char* text = secure_getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const fs::path folder(text);
  if (folder.is_absolute()) return folder / "";
  throw Error(ErrorCode::environment, std::string(variable) + " is \"" + text + "\"",
              "Name the folder from the root on, as /opt/syncopate/lib/syncopate: a relative one "
              "would be another in each working directory");
}

std::optional<fs::path> find_in_path(const std::string& name) {
  const char* path = secure_getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    const fs::path candidate = fs::path(folder) / name;
    if (candidate.is_absolute() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

void refuse_unless_safe(const std::string& what, const fs::path& file, Chosen chosen,
                        const char* variable) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) {
    throw Error(ErrorCode::environment,
                "the " + what + " " + file.string() + " cannot be looked at: " + error.message(),
                "Install Syncopate again, or let this user read what is there");
  }
  Trusted trusted;
  for (const fs::path& own : own_files()) trusted.add(own);
  if (chosen == Chosen::by_the_user) trusted.add(real);
  const std::vector<fs::path> way = way_to(real);
  for (std::size_t i = 0; i < way.size(); ++i) {
    const std::string stranger = stranger_at(way[i], trusted, /*sticky_is_enough=*/i > 1);
    if (stranger.empty()) continue;
    const bool choice = chosen == Chosen::by_us && variable != nullptr;
    throw Error(
        ErrorCode::environment,
        "the " + what + " " + file.string() + " is not used, as others can change it: " + stranger,
        "Let only root or you write there (chown, chmod go-w)" +
            (choice ? ", or name its folder in " + std::string(variable) + " if you trust them"
                    : std::string()));
  }
}

}  // namespace syncopate::fabric

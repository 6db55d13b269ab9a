#include "train/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "syncopate/error.h"
#include "train/durable_file.h"

namespace syncopate::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartPrefix = "rank-";
/// Names the parts. It is written after all of them, so that a folder with it, and with all files
/// that it names, is whole.
constexpr const char* kList = "parts.json";
/// With the names of all ranks that a job can have, and some more.
constexpr std::size_t kLongestList = std::size_t{1} << 20;

/// Where the next one is written. After an exchange of names it is the one before.
fs::path fresh_of(const fs::path& run) { return run / "checkpoint.new"; }
/// Where the one before is for a moment, on file systems that cannot exchange two names.
fs::path old_of(const fs::path& run) { return run / "checkpoint.old"; }

std::vector<int> files_in(const fs::path& folder) {
  std::vector<int> ranks;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPartPrefix)) continue;
    const auto rank =
        detail::leading_number<int>(std::string_view(name).substr(kPartPrefix.size()));
    if (rank && entry.path() == part(folder, rank->value)) ranks.push_back(rank->value);
  }
  std::ranges::sort(ranks);
  return ranks;
}

enum class List {
  none,     ///< Of an older version, or of a checkpoint that is being written.
  damaged,  ///< There is one, and it makes no sense.
  read,
};

List read_list(const fs::path& folder, std::vector<int>& ranks) {
  std::ifstream file(folder / kList, std::ios::binary);
  if (!file) return List::none;
  std::string text(kLongestList, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(std::size_t(file.gcount()));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto found = json.is_object() ? json.find("ranks") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_array()) return List::damaged;
  for (const auto& rank : *found) {
    if (!rank.is_number_unsigned() || rank > std::numeric_limits<int>::max()) return List::damaged;
    ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks.empty() ? List::damaged : List::read;
}

/// The first file that a whole checkpoint would have and this one has not.
std::optional<fs::path> missing_in(const fs::path& folder, const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    if (!fs::exists(part(folder, rank))) return part(folder, rank);
  }
  return std::nullopt;
}

bool is_whole(const fs::path& folder) {
  std::vector<int> ranks;
  return read_list(folder, ranks) == List::read && !missing_in(folder, ranks);
}

/// What settle_checkpoint() would make the checkpoint.
std::optional<fs::path> left_behind(const fs::path& run) {
  // The new one is taken only if it is whole beyond doubt; the old one was in use.
  if (is_whole(fresh_of(run))) return fresh_of(run);
  std::error_code unreadable;
  if (fs::exists(old_of(run), unreadable)) return old_of(run);
  return std::nullopt;
}

/// The number of the file with this name; 0 if there is none.
ino_t file_at(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

void write_list(const fs::path& folder, const std::vector<int>& ranks) {
  // What a rank was writing when it died may not be whole.
  for (const int rank : files_in(folder)) {
    if (!std::ranges::binary_search(ranks, rank)) fs::remove(part(folder, rank));
  }
  write_file(folder / kList, nlohmann::json{{"ranks", ranks}}.dump() + "\n");
  sync_folder(folder);
}

/// Two renames, between which RUN/checkpoint is not there.
void take_place_in_two_steps(const fs::path& run) {
  const fs::path folder = checkpoint_of(run), fresh = fresh_of(run), old = old_of(run);
  fs::remove_all(old);
  rename_file(folder, old);
  try {
    fs::rename(fresh, folder);
  } catch (const std::system_error&) {
    std::error_code failed;  // Then settle_checkpoint() will do it.
    fs::rename(old, folder, failed);
    throw;
  }
}

/// sync_folder() has to follow.
void take_place(const fs::path& run) {
  const fs::path folder = checkpoint_of(run), fresh = fresh_of(run);
  if (!fs::exists(folder)) return fs::rename(fresh, folder);
  const int exchanged =
      ::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE);
  if (exchanged == 0) return;
  // Network file systems and old kernels know no exchange.
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
    throw std::system_error(errno, std::generic_category(), folder.string());
  }
  take_place_in_two_steps(run);
}

}  // namespace

fs::path checkpoint_of(const fs::path& run) { return run / "checkpoint"; }

fs::path part(const fs::path& folder, int rank) {
  return folder / fmt::format("{}{}.safetensors", kPartPrefix, rank);
}

std::vector<int> parts_in(const fs::path& folder) {
  std::vector<int> ranks;
  const List list = read_list(folder, ranks);
  if (list == List::none) return files_in(folder);
  const auto missing = missing_in(folder, ranks);
  if (list == List::read && !missing) return ranks;
  throw Error(ErrorCode::environment,
              missing ? fmt::format("the checkpoint is not whole: {} is missing", missing->string())
                      : fmt::format("{} cannot be read", (folder / kList).string()),
              "Bring the file back from a copy, or start the run anew");
}

bool has_checkpoint(const fs::path& run) {
  std::error_code unreadable;  // Its machine may be the one that is lost.
  return fs::is_directory(checkpoint_of(run), unreadable) || left_behind(run);
}

bool was_interrupted_in_first_checkpoint(const fs::path& run) {
  std::error_code unreadable;
  return !has_checkpoint(run) && fs::exists(fresh_of(run), unreadable);
}

void settle_checkpoint(const fs::path& run) {
  if (!fs::exists(checkpoint_of(run))) {
    const auto found = left_behind(run);
    if (!found) return;
    rename_file(*found, checkpoint_of(run));
  }
  // Unless a part is missing, and what was left behind may be of use.
  if (is_whole(checkpoint_of(run))) begin_checkpoint(run);
}

void begin_checkpoint(const fs::path& run) {
  const fs::path fresh = fresh_of(run), old = old_of(run);
  if (!fs::exists(fresh) && !fs::exists(old)) return;
  // One of them may be what the run would go on from if the names on the disk are older ones.
  sync_folder(run);
  fs::remove_all(fresh);
  fs::remove_all(old);
}

ino_t write_part(const fs::path& run, int rank, const std::string& bytes) {
  const fs::path file = part(fresh_of(run), rank);
  fs::create_directories(file.parent_path());
  write_file(file, bytes);
  return file_at(file);
}

void abandon_checkpoint(const fs::path& run) { fs::remove_all(fresh_of(run)); }

void complete_checkpoint(const fs::path& run, const std::vector<int>& ranks, int rank, ino_t mine) {
  if (file_at(part(checkpoint_of(run), rank)) != mine) {
    try {
      write_list(fresh_of(run), ranks);
    } catch (const std::exception&) {
      abandon_checkpoint(run);
      throw;
    }
    take_place(run);
  }
  sync_folder(run);
  // From here on the one before is not needed. If it stays, the next one clears it.
  std::error_code stays;
  fs::remove_all(fresh_of(run), stays);
  fs::remove_all(old_of(run), stays);
}

}  // namespace syncopate::train

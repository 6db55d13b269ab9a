#include "train/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "syncopate/error.h"
#include "train/bytes.h"
#include "train/durable_file.h"
#include "train/json.h"
#include "train/limits.h"

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
    const auto rank = base::leading_number<int>(std::string_view(name).substr(kPartPrefix.size()));
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
  if (!has_entry(folder / kList)) return List::none;
  try {
    ranks = parse_part_list(read_bytes(folder / kList, kLongestList));
    return List::read;
  } catch (const Damaged&) {
    return List::damaged;
  }
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

/// A link would let a run write where it should not, or take for its own what is another's.
void refuse_link(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_symlink(folder, unreadable)) return;
  throw Error(ErrorCode::environment,
              fmt::format("{} is a symbolic link, where a folder is due", folder.string()),
              "Put the folder itself in its place");
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
    if (!std::ranges::binary_search(ranks, rank)) remove_whole(part(folder, rank));
  }
  write_file(folder / kList, nlohmann::json{{"ranks", ranks}}.dump() + "\n");
  sync_folder(folder);
}

/// Two renames, between which RUN/checkpoint is not there.
void take_place_in_two_steps(const fs::path& run) {
  const fs::path folder = checkpoint_of(run), fresh = fresh_of(run), old = old_of(run);
  remove_whole(old);
  rename_file(folder, old);
  try {
    rename_file(fresh, folder);
  } catch (const std::system_error&) {
    if (has_entry(folder)) throw;  // Only its name is not safe on the disk.
    try {
      rename_file(old, folder);
    } catch (const std::system_error&) {
      // Then settle_checkpoint() will do it.
    }
    throw;
  }
}

void take_place(const fs::path& run) {
  const fs::path folder = checkpoint_of(run), fresh = fresh_of(run);
  if (!has_entry(folder)) return rename_file(fresh, folder);
  if (exchange_names(fresh, folder)) return sync_folder(run);
  // Network file systems and old kernels know no exchange.
  take_place_in_two_steps(run);
}

}  // namespace

fs::path checkpoint_of(const fs::path& run) { return run / "checkpoint"; }

fs::path part(const fs::path& folder, int rank) {
  return folder / fmt::format("{}{}.safetensors", kPartPrefix, rank);
}

std::vector<int> parse_part_list(std::string_view text) {
  const nlohmann::json json = read_json(text);
  Members members(json);
  std::vector<int> ranks;
  for (const nlohmann::json& rank : members.list("ranks")) {
    const nlohmann::json as_member = {{"rank", rank}};
    ranks.push_back(int(Members(as_member, "the list of ranks").whole("rank", 0, kMostRanks - 1)));
  }
  members.expect_no_others();
  std::ranges::sort(ranks);
  if (ranks.empty()) throw Damaged("it names no rank");
  if (std::ranges::adjacent_find(ranks) != ranks.end()) throw Damaged("it names a rank twice");
  return ranks;
}

std::vector<int> parts_in(const fs::path& folder) {
  refuse_link(folder);
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
  return fs::is_directory(checkpoint_of(run), unreadable) || left_behind(run).has_value();
}

bool was_interrupted_in_first_checkpoint(const fs::path& run) {
  std::error_code unreadable;
  return !has_checkpoint(run) && fs::exists(fresh_of(run), unreadable);
}

void settle_checkpoint(const fs::path& run) {
  for (const fs::path& folder : {checkpoint_of(run), fresh_of(run), old_of(run)}) {
    refuse_link(folder);
  }
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
  if (!has_entry(fresh) && !has_entry(old)) return;
  // One of them may be what the run would go on from if the names on the disk are older ones.
  sync_folder(run);
  remove_whole(fresh);
  remove_whole(old);
}

ino_t write_part(const fs::path& run, int rank, const std::string& bytes) {
  const fs::path file = part(fresh_of(run), rank);
  if (!make_folder(fresh_of(run))) refuse_link(fresh_of(run));
  write_file(file, bytes);
  return file_at(file);
}

void abandon_checkpoint(const fs::path& run) { remove_whole(fresh_of(run)); }

void complete_checkpoint(const fs::path& run, const std::vector<int>& ranks, int rank, ino_t mine) {
  if (file_at(part(checkpoint_of(run), rank)) != mine) {
    try {
      write_list(fresh_of(run), ranks);
    } catch (const std::exception&) {
      abandon_checkpoint(run);
      throw;
    }
    take_place(run);
  } else {
    sync_folder(run);  // It may have died before it could.
  }
  // From here on the one before is not needed. If it stays, the next one clears it.
  std::error_code stays;
  fs::remove_all(fresh_of(run), stays);
  fs::remove_all(old_of(run), stays);
}

}  // namespace syncopate::train

// Writing the files of a run so that they survive a loss of power: what one of these functions has
// written is on the disk when it returns. They throw std::system_error, which names the file; what
// was to be replaced is then as it was.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>

namespace syncopate::train {

/// Makes a call of the system again for as long as it is interrupted: network file systems do that
/// to other calls than slow ones, too.
template <typename Call>
auto uninterrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// Writes all of it, however often the system is interrupted or takes only a part. A limit on the
/// size of files is an error like any other, not the end of the process. Returns 0 or the errno.
int write_all(int descriptor, std::string_view bytes);

/// A file that is not there yet, or whose content does not matter: if it throws, there is none. The
/// name is on the disk after sync_folder(). A link of this name is replaced, not followed.
void write_file(const std::filesystem::path& file, std::string_view bytes);

/// In one step: a reader finds the old file or the new one, whole, also after a loss of power.
void replace_file(const std::filesystem::path& file, std::string_view bytes);

/// The same for a file that is written in pieces. Nothing is left of it unless it takes its place.
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& file);
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::string_view bytes);
  void take_place();

 private:
  std::filesystem::path file_, fresh_;
  int descriptor_;
};

/// Renames a file or a folder. What has the name `to` is replaced, if the system can do that.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Gives each the name of the other in one step, which sync_folder() has to follow; false where the
/// file system cannot do that.
bool exchange_names(const std::filesystem::path& one, const std::filesystem::path& other);

/// Puts the names in a folder on the disk, where the file system can do that for a folder.
void sync_folder(const std::filesystem::path& folder);

/// Makes this folder and those above it, as far as they are not there.
void make_folders(const std::filesystem::path& folder);

/// False if there is something of this name already.
bool make_folder(const std::filesystem::path& folder);
void make_link(const std::filesystem::path& target, const std::filesystem::path& link);
/// A file, a link but not what it leads to, or a folder with all that is in it; or nothing.
void remove_whole(const std::filesystem::path& path);
/// Whether there is anything of this name, if only a link that leads nowhere.
bool has_entry(const std::filesystem::path& path);

/// The folder that a file is in.
std::filesystem::path folder_of(const std::filesystem::path& file);

}  // namespace syncopate::train

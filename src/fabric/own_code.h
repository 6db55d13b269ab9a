// Which code this process may load or start beside its own, and from where. A name without a
// folder, the working directory and a folder that strangers can write to never count: a file that
// another user has left there would run as this one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace syncopate::fabric {

/// The files that this process runs: the one with this code in it, and the program. Absolute, with
/// links resolved, as the kernel knows them, and not as the program was called.
std::vector<std::filesystem::path> own_files();

/// The folder that a variable names. Nothing if it is not set, or if this process has rights that
/// its user has not (secure_getenv). Throws Error if it is not absolute.
std::optional<std::filesystem::path> code_folder_from_environment(const char* variable);

/// The first runnable file of that name in the absolute folders of PATH; none if this process has
/// rights that its user has not.
std::optional<std::filesystem::path> find_in_path(const std::string& name);

enum class Chosen : std::uint8_t {
  by_us,       ///< Among the folders of an installation …
  by_the_user  ///< … or by name: the user trusts those who own the folder, and their groups.
};

/// `what` is a title for messages ("plug-in"). Throws Error if the file, or a folder on the way to
/// it, can be changed by a stranger: by anybody but root, this user, and those who can change the
/// code that runs here already.
void refuse_unless_safe(const std::string& what, const std::filesystem::path& file, Chosen chosen,
                        const char* variable);

}  // namespace syncopate::fabric

// Where the checkpoint of a run lies: RUN/checkpoint, a file for each rank and one that names them.
// A new one is written beside it and takes its place in one step. At every moment, also after a
// death or a loss of power, settle_checkpoint() finds one that is whole, if there ever was one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::train {

/// RUN/checkpoint.
std::filesystem::path checkpoint_of(const std::filesystem::path& run);
/// The file of one rank.
std::filesystem::path part(const std::filesystem::path& folder, int rank);
/// The ranks that have a part, in order; none if there is no such folder. Throws Error where one is
/// missing, with its name.
std::vector<int> parts_in(const std::filesystem::path& folder);

/// The ranks that a text of parts.json names, in order. Throws Damaged for one that makes no sense.
std::vector<int> parse_part_list(std::string_view text);

/// Whether there is a checkpoint, if need be after settle_checkpoint().
bool has_checkpoint(const std::filesystem::path& run);
/// Whether the first checkpoint ever was being written when the run ended.
bool was_interrupted_in_first_checkpoint(const std::filesystem::path& run);
/// Completes what a death interrupted, so that RUN/checkpoint is the last one that is whole. Call
/// it with the run's lock. Throws std::system_error.
void settle_checkpoint(const std::filesystem::path& run);

// A new checkpoint is made by these in turn. They throw std::exception, and then RUN/checkpoint is
// the one it was, unless something else is said.

/// Clears what an earlier one has left behind.
void begin_checkpoint(const std::filesystem::path& run);
/// Writes the part of a rank, and returns the number of the file. All ranks may do that at once.
ino_t write_part(const std::filesystem::path& run, int rank, const std::string& bytes);
/// Forgets what was written so far.
void abandon_checkpoint(const std::filesystem::path& run);
/// Makes the parts of these ranks the checkpoint. `mine` is the number of the file of `rank`, by
/// which it sees whether another rank that is dead by now has done it. If it throws, RUN/checkpoint
/// may be either one, or settle_checkpoint() finds it; both are whole.
void complete_checkpoint(const std::filesystem::path& run, const std::vector<int>& ranks, int rank,
                         ino_t mine);

}  // namespace syncopate::train

// Sizes in bytes as people write them: "64K", "8,64K,1M", "64-4M", "8-1M:2". K, M and G are
// powers of 1024.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace syncopate::cli::bench {

/// A list of sizes and ranges LOW-HIGH[:FACTOR] (the factor is 8 if not given), each a whole
/// number of float32 and at least `least` bytes. Throws UsageError naming `option` for others.
std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text,
                                     std::size_t least);

/// "8", "64K", "100M": the shortest way to write it.
std::string format_size(std::size_t bytes);

/// The parts of "a,b,c".
std::vector<std::string> split_list(const std::string& text);

}  // namespace syncopate::cli::bench

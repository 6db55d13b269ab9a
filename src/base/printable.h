// Text from outside (files, options, variables, other programs) as it may stand on a terminal: none
// of it can do anything there, such as move the cursor, change colors or hide other text.
#pragma once

#include <string>
#include <string_view>

namespace syncopate::base {

/// Control characters and bytes that are no UTF-8 are spelt out (\x1b), and very long texts cut.
std::string printable(std::string_view text);

/// Whether there is nothing in it that printable() would have to spell out.
bool is_printable(std::string_view text);

}  // namespace syncopate::base

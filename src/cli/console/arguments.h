// Reading what a user typed. What is not allowed is refused with one sentence that says what is.
#pragma once

#include <stdexcept>
#include <string>

namespace syncopate::cli {

/// A mistake on the command line. The program prints the sentence and ends with code 2. What it
/// quotes is spelt out as in an Error, so that it does nothing on a terminal.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& sentence);
};

/// Throws UsageError unless the text is readable: not empty, in UTF-8, without control characters.
/// What is kept in files as JSON has to be.
void check_text(const std::string& option, const std::string& text);

/// A whole number from `low` to `high`. `option` is how the user knows it, for example "-n".
long whole_number(const std::string& option, const std::string& text, long low, long high);

/// A number of seconds up to `most`; above 0, or from 0 if `zero_allowed`.
double seconds(const std::string& option, const std::string& text, double most,
               bool zero_allowed = false);

}  // namespace syncopate::cli

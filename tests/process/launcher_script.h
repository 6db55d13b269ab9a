// The launcher under test, with small shell scripts as its ranks.
#pragma once

#include <string>
#include <vector>

namespace syncopate::testing {

using Strings = std::vector<std::string>;

/// `syncopate run` with `arguments`.
inline Strings cli(const Strings& arguments) {
  Strings command{SYNCOPATE_CLI_PATH, "run"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

/// The launcher with `options`, its ranks running a shell script.
inline Strings script(Strings options, const std::string& text) {
  options.insert(options.end(), {"--", "sh", "-c", text});
  return cli(options);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace syncopate::testing

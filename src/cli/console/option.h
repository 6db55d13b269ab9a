// An option with a value, as all commands have them: `type` is what the help calls the value.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace syncopate::cli {

template <typename Value>
CLI::Option* add_option(CLI::App& command, const char* name, Value& value, const char* type,
                        const std::string& text) {
  return command.add_option(name, value, text)->type_name(type);
}

}  // namespace syncopate::cli

// What was typed, and nothing about training. The only door to Boost.Program_options.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::host {

struct CommandLine {
  enum class Action { train, check, list_plugins, describe, help, version } action = Action::train;
  enum class Format { text, markdown, json };
  std::filesystem::path config;
  std::vector<std::string> overrides;  // of --set, in order
  std::vector<std::filesystem::path> plugin_directories;
  std::string component;               // of describe
  Format format = Format::text;        // of list_plugins and describe
  std::vector<std::string> arguments;  // all of them, with the program's name
};

// Throws Error(configuration) saying what was found and what is expected.
CommandLine parse_command_line(int argc, const char* const* argv);

// What --help prints.
std::string describe_usage();

}  // namespace tenon::host

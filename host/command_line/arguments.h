// The parsed options and positional arguments of a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/command_line/command_options.h"

namespace tenon::host {

struct Command;

// A run file with the options that change what it says.
struct RunFile {
  std::filesystem::path config;
  std::vector<std::string> overrides;  // --set, in order
  std::vector<std::filesystem::path> plugin_directories;
};

class Arguments {
 public:
  Arguments(const Command& command, po::variables_map options, std::vector<std::string> positional,
            std::vector<std::string> command_line);

  // Whether the option is given or has a default.
  bool has(const std::string& option) const { return options_.count(option) > 0; }

  bool is_given(const std::string& option) const { return has(option) && !options_[option].defaulted(); }

  // The value of an option, or `otherwise` if it is not given and has no default.
  template <class T>
  T get(const std::string& option, T otherwise = {}) const {
    return has(option) ? options_[option].as<T>() : otherwise;
  }
  std::string text(const std::string& option) const { return get<std::string>(option); }
  std::vector<std::string> texts(const std::string& option) const { return get<std::vector<std::string>>(option); }

  // An integer option of at least `least`, or `otherwise`. Refuses smaller numbers.
  int64_t count(const std::string& option, int64_t least, int64_t otherwise = 0) const;

  // One of these words. Refuses others.
  std::string choice(const std::string& option, const std::vector<std::string>& words) const;

  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<std::string>& command_line() const { return command_line_; }  // with the program
  bool wants_json() const { return has("json"); }
  RunFile run_file() const;
  std::vector<std::filesystem::path> plugin_directories() const;

  // Throws Error(configuration) "command line: ...; expected ...". `expected`: by default the usage of the command.
  [[noreturn]] void refuse(const std::string& what, const std::string& expected = "") const;

 private:
  const Command& command_;
  po::variables_map options_;
  std::vector<std::string> positional_;
  std::vector<std::string> command_line_;
};

// As Arguments::refuse(), for a command line that could not be parsed. `command`: null if none was found.
[[noreturn]] void refuse_command_line(const Command* command, const std::string& what, std::string expected = "");

}  // namespace tenon::host
